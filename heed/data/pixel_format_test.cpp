#include "heed/data/pixel_format.h"

#include "heed/io/test_files.h"

namespace heed::data {
namespace {

TEST(PixelFormat, EveryLevelComesBack) {
  for (int64_t levels = 2; levels <= 256; ++levels) {
    for (int32_t level = 0; level < levels; ++level) {
      ASSERT_EQ(level_of(grey_of(level, levels), levels), level) << levels;
      ASSERT_TRUE(level == 0 || grey_of(level, levels) > grey_of(level - 1, levels)) << levels;
    }
    EXPECT_EQ(grey_of(0, levels), 0);
    EXPECT_EQ(grey_of(static_cast<int32_t>(levels) - 1, levels), 255);
    int32_t before = 0;
    for (int grey = 0; grey < 256; ++grey) {
      const int32_t level = level_of(static_cast<uint8_t>(grey), levels);
      ASSERT_TRUE(level == before || level == before + 1) << levels;
      before = level;
    }
    EXPECT_EQ(before, levels - 1);
  }
  for (int grey = 0; grey < 256; ++grey) {
    EXPECT_EQ(grey_of(level_of(static_cast<uint8_t>(grey), 256), 256), grey);
    EXPECT_EQ(level_of(static_cast<uint8_t>(grey), 4), grey / 64);  // steps of one size
  }
}

TEST(PixelFormat, ImagesAreReducedByMeansOfSquares) {
  const GreyImage image{4, 2, {0, 1, 10, 20, 2, 3, 30, 41, /* two rows */}};
  const GreyImage half = reduced(image, 2);
  EXPECT_EQ(half.width, 2);
  EXPECT_EQ(half.height, 1);
  EXPECT_EQ(half.pixels, (std::vector<uint8_t>{2, 25}));  // 1.5 and 25.25
  EXPECT_EQ(reduced({3, 3, std::vector<uint8_t>(9, 255)}, 3).pixels, (std::vector<uint8_t>{255}));
}

TEST(PixelFormat, IdsAreLevelsAndStarts) {
  PixelFormat format{2, 2, 4, {}};
  EXPECT_EQ(format.vocabulary(), 5);
  EXPECT_EQ(format.start(-1), 4);
  EXPECT_EQ(levels_of({2, 2, {0, 64, 128, 255}}, 4), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(image_of(std::vector<int32_t>{0, 1, 2, 3}, format).pixels, (std::vector<uint8_t>{0, 85, 170, 255}));
  format.classes = {"coat", "가방"};
  EXPECT_EQ(format.vocabulary(), 6);
  EXPECT_EQ(format.start(1), 5);
  for (const int64_t wrong : {-1, 2}) EXPECT_THROW(format.start(wrong), Error);
}

TEST(PixelFormat, ItsFileComesBackAndBrokenOnesAreRefused) {
  const PixelFormat format{14, 28, 16, {"coat", "가방", "a \"b\"\n"}};
  const PixelFormat found = PixelFormat::parse(format.json(), "m/pixels.json");
  EXPECT_EQ(found.json(), format.json());
  EXPECT_EQ(found.classes, format.classes);
  const TemporaryFolder folder;
  EXPECT_FALSE(PixelFormat::in(folder.file("")));
  put_content(folder.file("pixels.json"), format.json());
  EXPECT_TRUE(PixelFormat::in(folder.file("")));
  EXPECT_EQ(PixelFormat::read(folder.file("")).height, 28);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string json = format.json();
    const size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos);
    json.replace(at, from.size(), to);
    return message_of([&] { PixelFormat::parse(json, "p"); });
  };
  EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"), "[tokenizer] p: 'version' is 2, expected 1");
  EXPECT_EQ(refused("\"levels\": 16", "\"levels\": 257"), "[tokenizer] p: 'levels' is 257, expected 2 to 256");
  EXPECT_EQ(refused("\"width\": 14", "\"width\": -3"), "[tokenizer] p: 'width' is -3, expected 1 to 4096");
  EXPECT_EQ(refused("\"width\": 14", "\"width\": 18446744073709551615"),
            "[tokenizer] p: 'width' is 18446744073709551615, expected 1 to 4096");
  EXPECT_EQ(refused("\"height\"", "\"hight\""), "[tokenizer] p: lacks 'height'");
  EXPECT_EQ(refused("\"coat\"", "\"가방\""), "[tokenizer] p: class 1 is no name, or that of another");
  EXPECT_EQ(refused("\"coat\"", "7"), "[tokenizer] p: class 0 is no name, or that of another");
  EXPECT_EQ(refused("{", "["), "[tokenizer] p: not a JSON object");
}

}  // namespace
}  // namespace heed::data
