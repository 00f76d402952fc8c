// Event files byte by byte: what TensorBoard's own writer makes of the same events.
#include "heed/train/tensorboard.h"

#include <cmath>
#include <filesystem>

#include "heed/io/test_files.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

TEST(TensorBoard, TheChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // of RFC 3720, as the next
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(TensorBoard, RecordsAreTheBytesOfItsOwnWriter) {
  constexpr double kTime = 1700000000.25;
  EXPECT_EQ(hex(tfrecord(version_event(kTime))),
            "1800000000000000a37f4b22"
            "0900001040fc54d9411a0d627261696e2e4576656e743a32"
            "338d2fe9");
  EXPECT_EQ(hex(tfrecord(start_event(kTime, 3))),
            "0f000000000000006d532b09"
            "0900001040fc54d94110033a020801"
            "9481124c");
  const Scalar scalars[] = {{"train/loss", 2.5}, {"bleu", -0.1}};
  EXPECT_EQ(hex(tfrecord(scalars_event(kTime, 300, scalars))),
            "2e00000000000000c5cb57fa"
            "0900001040fc54d94110ac022a200a110a0a747261696e2f6c6f737315000020400a0b0a04626c657515cdccccbd"
            "72377f7f");
}

// The messages of a file, each length and checksum looked at.
std::vector<std::string> messages_of(const std::string& file) {
  std::vector<std::string> all;
  for (size_t at = 0; at < file.size();) {
    uint64_t n = 0;
    for (size_t i = 8; i-- > 0;) n = n << 8 | static_cast<uint8_t>(file.at(at + i));
    all.push_back(file.substr(at + 12, n));
    EXPECT_EQ(file.substr(at, 16 + n), tfrecord(all.back()));
    at += 16 + n;
  }
  return all;
}

TEST(TensorBoard, ARunIsOneFileAStart) {
  const TemporaryFolder folder;
  const std::string place = folder.file("tensorboard");
  for (const int64_t first : {1, 4}) {
    EventLog log(place);
    log.start(first);
    StepReport step;
    step.step = first, step.loss = NAN;
    log.add(step);
    ValidationReport validation;
    validation.step = first, validation.bleu = first == 1 ? -1 : 20;
    log.add(validation);
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(place)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 2u);  // though they began within one second
  for (size_t i = 0; i < files.size(); ++i) {
    const std::vector<std::string> messages = messages_of(content_of(files[i]));
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_NE(messages[0].find("brain.Event:2"), std::string::npos);
    EXPECT_EQ(messages[1].substr(9), start_event(0, i == 0 ? 1 : 4).substr(9));  // behind the time
    for (const char* tag : {"train/loss", "train/perplexity", "train/learning_rate"}) {
      EXPECT_NE(messages[2].find(tag), std::string::npos) << tag;
    }
    EXPECT_NE(messages[3].find("valid/loss"), std::string::npos);
    EXPECT_EQ(messages[3].find("valid/bleu") != std::string::npos, i == 1);
    EXPECT_EQ(messages[3].find("valid/chrf") != std::string::npos, i == 1);
  }
}

TEST(TensorBoard, APlaceThatCannotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  put_content(folder.file("file"), "");
  EventLog log(folder.file("file/tensorboard"));
  EXPECT_NE(message_of([&] { log.start(1); }).find("[train] cannot write '" + folder.file("file/tensorboard")),
            std::string::npos);
}

}  // namespace
}  // namespace heed::train
