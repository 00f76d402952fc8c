#include "heed/io/mapped_file.h"

#include <sys/stat.h>

#include <utility>

#include "heed/io/test_files.h"

namespace heed {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HoldsTheContent) {
  const TemporaryFolder folder;
  put_content(folder.file("a"), "hello");
  EXPECT_EQ(text_of(MappedFile(folder.file("a"))), "hello");
  put_content(folder.file("empty"), "");
  EXPECT_TRUE(MappedFile(folder.file("empty")).bytes().empty());
}

TEST(MappedFile, Moves) {
  const TemporaryFolder folder;
  put_content(folder.file("a"), "first");
  put_content(folder.file("b"), "second");
  MappedFile file(folder.file("a"));
  MappedFile other(std::move(file));
  EXPECT_EQ(text_of(other), "first");
  other = MappedFile(folder.file("b"));
  EXPECT_EQ(text_of(other), "second");
}

TEST(MappedFile, StaysWhenTheFileIsRemoved) {
  const TemporaryFolder folder;
  put_content(folder.file("a"), "still here");
  const MappedFile file(folder.file("a"));
  std::filesystem::remove(folder.file("a"));
  EXPECT_EQ(text_of(file), "still here");
}

TEST(MappedFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto reason = [&](const std::string& path) {
    const std::string message = message_of([&] { MappedFile file(path); });
    const std::string start = "[read] cannot read '" + path + "': ";
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  };
  EXPECT_EQ(reason(folder.file("model.safetensors")), "no such file");
  put_content(folder.file("model.safetensors"), "x");
  EXPECT_EQ(reason(folder.file("modle.safetensors")), "no such file; did you mean 'model.safetensors'?");
  EXPECT_EQ(reason(folder.file("none/x")), "folder '" + folder.file("none") + "' does not exist");
  EXPECT_EQ(reason(folder.file("")), "it is a folder");
  EXPECT_EQ(reason("/dev/null"), "it is not a regular file");
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(reason(folder.file("pipe")), "it is not a regular file");
}

}  // namespace
}  // namespace heed
