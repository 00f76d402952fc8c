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

// A PNG file of any format of libpng's.
std::string png_of(png_uint_32 format, int64_t width, int64_t height, std::vector<uint16_t> wide,
                   std::vector<uint8_t> bytes) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(width), header.height = static_cast<png_uint_32>(height);
  header.format = format;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(header), '\0');
  png_alloc_size_t size = file.size();
  const void* pixels = wide.empty() ? static_cast<const void*>(bytes.data()) : wide.data();
  EXPECT_NE(png_image_write_to_memory(&header, file.data(), &size, 0, pixels, 0, nullptr), 0) << header.message;
  file.resize(size);
  return file;
}

GreyImage grey(const std::string& file) { return decode_grey_png(std::as_bytes(std::span(file)), "a.png"); }

TEST(Png, ReadsAnyPictureAsGrey) {
  const std::vector<uint8_t> greys = {0, 1, 77, 128, 254, 255};
  const GreyImage plain = grey(png_of(PNG_FORMAT_GRAY, 3, 2, {}, greys));
  EXPECT_EQ(plain.width, 3);
  EXPECT_EQ(plain.height, 2);
  EXPECT_EQ(plain.pixels, greys);
  std::vector<uint8_t> colours, clear;
  for (const uint8_t v : greys) colours.insert(colours.end(), 3, v), clear.insert(clear.end(), {v, 0});
  EXPECT_EQ(grey(png_of(PNG_FORMAT_RGB, 3, 2, {}, colours)).pixels, greys);
  EXPECT_EQ(grey(png_of(PNG_FORMAT_GA, 3, 2, {}, clear)).pixels, std::vector<uint8_t>(6, 255));
  EXPECT_EQ(grey(png_of(PNG_FORMAT_LINEAR_Y, 2, 1, {0, 65535}, {})).pixels, (std::vector<uint8_t>{0, 255}));
  // Green is lighter than red, red than blue.
  const std::vector<uint8_t> rgb = grey(png_of(PNG_FORMAT_RGB, 3, 1, {}, {0, 0, 255, 255, 0, 0, 0, 255, 0})).pixels;
  EXPECT_LT(rgb[0], rgb[1]);
  EXPECT_LT(rgb[1], rgb[2]);
  const TemporaryFolder folder;
  write_png(folder.file("b.png"), {3, 2, colours});
  EXPECT_EQ(read_grey_png(folder.file("b.png")).pixels, greys);
}

TEST(Png, RefusesBrokenFilesInOneLine) {
  const std::string whole = png_of(PNG_FORMAT_RGB, 20, 20, {}, gradient(20, 20).pixels);
  const auto refusal = [](const std::string& file) { return message_of([&] { grey(file); }); };
  for (const std::string& bad : {std::string(), std::string("no picture"), whole.substr(0, 40),
                                 whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 20)}) {
    const std::string message = refusal(bad);
    EXPECT_TRUE(message.starts_with("[png] 'a.png' cannot be read: ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
  EXPECT_TRUE(refusal(damaged).starts_with("[png] 'a.png' cannot be read: "));
  EXPECT_EQ(refusal(png_of(PNG_FORMAT_GRAY, 4097, 1, {}, std::vector<uint8_t>(4097))),
            "[png] 'a.png' is 4097 x 1 pixels, expected at most 4096 a side");
  EXPECT_NE(message_of([] { read_grey_png("no-such.png"); }).find("no-such.png"), std::string::npos);
}

}  // namespace
}  // namespace heed
