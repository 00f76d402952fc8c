#include "heed/data/lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <string_view>
#include <thread>
#include <utility>

#include "heed/data/test_gzip.h"
#include "heed/io/file_descriptor.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

std::vector<std::string> lines_of(std::vector<std::string> files) {
  LineReader reader(std::move(files));
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

class LineReaderTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& content) {
    put_content(folder_.file(name), content);
    return folder_.file(name);
  }
  const TemporaryFolder folder_;
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, LineEndings) {
  EXPECT_EQ(lines_of({put("a", "")}), Lines{});
  EXPECT_EQ(lines_of({put("a", "\n")}), Lines{""});
  EXPECT_EQ(lines_of({put("a", "one")}), Lines{"one"});
  EXPECT_EQ(lines_of({put("a", "one\n")}), Lines{"one"});
  EXPECT_EQ(lines_of({put("a", "one\n\ntwo")}), (Lines{"one", "", "two"}));
  EXPECT_EQ(lines_of({put("a", "one\r\n\r\ntwo\r\n")}), (Lines{"one", "", "two"}));
  EXPECT_EQ(lines_of({put("a", "a\rb\r\r\nc\r")}), (Lines{"a\rb\r", "c\r"}));
}

TEST_F(LineReaderTest, AByteOrderMarkIsNoText) {
  EXPECT_EQ(lines_of({put("a", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"), put("b", "\xEF\xBB\xBFthree")}),
            (Lines{"one", "\xEF\xBB\xBFtwo", "three"}));
}

// Blocks end anywhere: also between "\r" and "\n".
TEST_F(LineReaderTest, LinesAcrossBlocks) {
  for (const size_t size : {65534, 65535, 65536, 65537, 131071, 131072, 200000}) {
    const std::string line(size, 'x');
    for (const std::string end : {"\n", "\r\n"}) {
      EXPECT_EQ(lines_of({put("a", fmt::format("{0}{1}next{1}", line, end))}), (Lines{line, "next"})) << size;
    }
    EXPECT_EQ(lines_of({put("a", line + "\rnext")}), (Lines{line + "\rnext"})) << size;
  }
}

TEST_F(LineReaderTest, SeveralFilesAndTheirPlaces) {
  const std::string a = put("a", "1\n2"), empty = put("empty", ""), b = put("b", "3\n");
  LineReader reader({a, empty, b, empty});
  std::vector<std::string> places;
  for (std::string line; reader.next(line);) places.push_back(line + " " + reader.place());
  EXPECT_EQ(places, (Lines{"1 " + a + ":1", "2 " + a + ":2", "3 " + b + ":1"}));
  EXPECT_EQ(reader.file(), b);
  EXPECT_EQ(reader.number(), 1);
  std::string line;
  EXPECT_FALSE(reader.next(line));
}

TEST_F(LineReaderTest, ProgressGrowsToOne) {
  std::string content;
  for (int i = 0; i < 50000; ++i) content += std::to_string(i) + " and some words\n";
  for (const std::string& file : {put("a", content), put("a.gz", gzip(content))}) {
    LineReader reader({file, put("small", "x\n")});
    double last = 0;
    for (std::string line; reader.next(line);) {
      ASSERT_GE(reader.progress(), last);
      ASSERT_LE(reader.progress(), 1.0);
      last = reader.progress();
    }
    EXPECT_EQ(reader.progress(), 1.0);
  }
}

TEST_F(LineReaderTest, GzipByContent) {
  std::string content;
  Lines expected;
  for (int i = 0; i < 30000; ++i) {
    expected.push_back("line " + std::to_string(i * 7919));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of({put("a.gz", gzip(content))}), expected);
  EXPECT_EQ(lines_of({put("named_otherwise", gzip(content))}), expected);
  EXPECT_EQ(lines_of({put("a.gz", gzip("one\ntw") + gzip("") + gzip("o\n") + std::string(1000, '\0'))}),
            (Lines{"one", "two"}));
  EXPECT_EQ(lines_of({put("a.gz", gzip(""))}), Lines{});
  // Padding that fills the reader's block to its last byte.
  for (const size_t zeros : {65535, 65536, 65537, 200000}) {
    EXPECT_EQ(lines_of({put("a.gz", gzip("one\n") + std::string(zeros, '\0'))}), Lines{"one"}) << zeros;
  }
}

TEST_F(LineReaderTest, GzipCutShortAnywhere) {
  std::string content;
  for (int i = 0; i < 200; ++i) content += std::to_string(i * i * 31) + "\n";
  const std::string packed = gzip(content);
  for (size_t size = 0; size < packed.size(); ++size) {
    const std::string file = put("a.gz", packed.substr(0, size));
    const std::string message = message_of([&] { lines_of({file}); });
    EXPECT_TRUE(message.starts_with("[read] cannot read '" + file + "': ")) << message;
  }
}

TEST_F(LineReaderTest, GzipDamaged) {
  const std::string packed = gzip(std::string(1000, 'x') + "\n");
  int refused = 0;
  for (size_t at = 10; at < packed.size(); ++at) {
    std::string wrong = packed;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x55);
    const std::string file = put("a.gz", wrong);
    try {
      EXPECT_EQ(lines_of({file}), Lines{std::string(1000, 'x')}) << "bits that mean nothing may change";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("'" + file + "': the gzip data is"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GE(refused, static_cast<int>(packed.size()) - 12);
  EXPECT_NE(message_of([&] { lines_of({put("a.gz", packed + "junk")}); }).find("other bytes follow"),
            std::string::npos);
  EXPECT_NE(message_of([&] { lines_of({put("a.gz", "plain text\n")}); }).find("it is not gzip"), std::string::npos);
}

TEST_F(LineReaderTest, AHugeLineIsCut) {
  LineReader reader({put("a.gz", gzip("abcd\nabcde\n" + std::string(8'000'000, 'x') + "\nshort\n"))}, LineLimit{4});
  std::string line;
  const auto next = [&] {
    EXPECT_TRUE(reader.next(line));
    return line + (reader.cut() ? "..." : "");
  };
  EXPECT_EQ(next(), "abcd");
  EXPECT_EQ(next(), "abcd...");
  EXPECT_EQ(next(), "xxxx...");
  EXPECT_LT(line.capacity(), 1000u);
  EXPECT_EQ(next(), "shor...");
  EXPECT_EQ(reader.number(), 4);
  EXPECT_FALSE(reader.next(line));
}

TEST_F(LineReaderTest, AHugeLineIsRefusedBeforeItsEnd) {
  LineReader endless({"/dev/zero"}, {.max_bytes = 1000, .refuse = true});
  std::string line;
  EXPECT_EQ(message_of([&] { endless.next(line); }), "[read] /dev/zero:1 is longer than 1000 bytes");
}

TEST_F(LineReaderTest, WhatIsWrongIsSaidAtTheStart) {
  const std::string good = put("good.txt", "x\n");
  const std::string message = message_of([&] { LineReader reader({good, folder_.file("god.txt")}); });
  EXPECT_EQ(message, "[read] cannot read '" + folder_.file("god.txt") + "': no such file; did you mean 'good.txt'?");
  EXPECT_NE(message_of([&] { LineReader reader({folder_.file("")}); }).find("it is a folder"), std::string::npos);
  EXPECT_NE(message_of<Error>([&] { LineReader reader({}); }).find("no file"), std::string::npos);
}

// A person at the other end waits for the answer to the first line.
TEST_F(LineReaderTest, APipeGivesItsLinesAtOnce) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  int answered[2];
  ASSERT_EQ(::pipe(answered), 0);
  const FileDescriptor answers(answered[0]), answer(answered[1]);
  std::thread writer([&] {
    std::ofstream stream(pipe);
    stream << "first\n" << std::flush;
    char byte;
    EXPECT_EQ(::read(answers.get(), &byte, 1), 1);
    stream << "second\n";
  });
  LineReader reader({pipe});
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "first");
  EXPECT_EQ(::write(answer.get(), "x", 1), 1);
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "second");
  EXPECT_FALSE(reader.next(line));
  writer.join();
}

// Who has other work goes on with it until the whole line has come.
TEST_F(LineReaderTest, WithoutWaitingALineMayComeInParts) {
  using Next = LineReader::Next;
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  FileDescriptor writer(::open(pipe.c_str(), O_RDWR));
  const auto say = [&](std::string_view text) {
    ASSERT_EQ(::write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  LineReader reader({pipe});
  std::string line;
  EXPECT_EQ(reader.next(line, false), Next::kNotYet);
  say("fi");
  EXPECT_EQ(reader.next(line, false), Next::kNotYet);
  say("rst\r");
  EXPECT_EQ(reader.next(line, false), Next::kNotYet);
  say("\n\nthird\nlast");
  for (const char* expected : {"first", "", "third"}) {
    EXPECT_EQ(reader.next(line, false), Next::kLine);
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(reader.next(line, false), Next::kNotYet);
  EXPECT_EQ(reader.number(), 3);
  writer = FileDescriptor();
  EXPECT_EQ(reader.next(line, false), Next::kLine);
  EXPECT_EQ(line, "last");
  EXPECT_EQ(reader.next(line, false), Next::kEnd);
}

}  // namespace
}  // namespace heed::data
