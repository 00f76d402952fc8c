#include "heed/io/png.h"

#include <png.h>

#include "heed/io/test_files.h"

namespace heed {
namespace {

RgbImage gradient(int64_t width, int64_t height) {
  RgbImage image{width, height, {}};
  for (int64_t i = 0; i < width * height * 3; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 7 + i / 251));
  return image;
}

RgbImage decode(const std::string& file) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&header, file.data(), file.size()), 0) << header.message;
  EXPECT_EQ(header.format, static_cast<png_uint_32>(PNG_FORMAT_RGB));
  RgbImage image{header.width, header.height, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(header));
  EXPECT_NE(png_image_finish_read(&header, nullptr, image.pixels.data(), 0, nullptr), 0) << header.message;
  return image;
}

TEST(Png, ComesBackPixelByPixel) {
  const TemporaryFolder folder;
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {1, 100}, {257, 63}, {65535, 1}}) {
    const RgbImage image = gradient(width, height);
    write_png(folder.file("a.png"), image);
    const RgbImage found = decode(content_of(folder.file("a.png")));
    EXPECT_EQ(found.width, width);
    EXPECT_EQ(found.height, height);
    EXPECT_EQ(found.pixels, image.pixels);
  }
}

TEST(Png, SamePictureSameBytes) { EXPECT_EQ(encode_png(gradient(40, 30)), encode_png(gradient(40, 30))); }

TEST(Png, RefusesWhatIsNoPicture) {
  const auto refusal = [](int64_t width, int64_t height, size_t bytes) {
    return message_of<Error>([&] { encode_png({width, height, std::vector<uint8_t>(bytes)}); });
  };
  const std::string expected = " pixels, expected sides from 1 to 65535 and at most 268435456 pixels";
  EXPECT_EQ(refusal(0, 4, 0), "[png] picture of 0 x 4" + expected);
  EXPECT_EQ(refusal(4, -1, 0), "[png] picture of 4 x -1" + expected);
  EXPECT_EQ(refusal(65536, 1, 0), "[png] picture of 65536 x 1" + expected);
  EXPECT_EQ(refusal(65535, 65535, 0), "[png] picture of 65535 x 65535" + expected);
  EXPECT_EQ(refusal(2, 2, 11), "[png] picture of 2 x 2 pixels with 11 bytes, expected 12");
}

TEST(Png, SaysWhereItCannotWrite) {
  EXPECT_EQ(message_of([] { write_png("no-such-folder/a.png", gradient(2, 2)); }),
            "[write] cannot write 'no-such-folder/a.png': folder 'no-such-folder' does not exist");
}

}  // namespace
}  // namespace heed
