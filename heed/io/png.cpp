#include "heed/io/png.h"

#include <png.h>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"

namespace heed {
namespace {

constexpr int64_t kLongestSide = 65535;
constexpr int64_t kMostPixels = int64_t{1} << 28;
constexpr int64_t kLongestSideRead = 4096;  // before memory is taken for what a file says of itself
constexpr int64_t kChannels = 3;

void check_image(const RgbImage& image) {
  check_png_size(image.width, image.height);
  const auto expected = static_cast<size_t>(image.width * image.height * kChannels);
  if (image.pixels.size() != expected) {
    fail("[png] picture of {} x {} pixels with {} bytes, expected {}", image.width, image.height, image.pixels.size(),
         expected);
  }
}

// libpng's picture, which wants to be told when it is over.
struct PngReader {
  PngReader() { header.version = PNG_IMAGE_VERSION; }
  ~PngReader() { png_image_free(&header); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  png_image header{};
};

}  // namespace

void check_png_size(int64_t width, int64_t height) {
  const bool sides_fit = width >= 1 && height >= 1 && width <= kLongestSide && height <= kLongestSide;
  if (!sides_fit || width * height > kMostPixels) {
    fail("[png] picture of {} x {} pixels, expected sides from 1 to {} and at most {} pixels", width, height,
         kLongestSide, kMostPixels);
  }
}

std::vector<std::byte> encode_png(const RgbImage& image) {
  check_image(image);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> file(size);
  const auto row_bytes = static_cast<png_int_32>(image.width * kChannels);
  if (png_image_write_to_memory(&header, file.data(), &size, 0, image.pixels.data(), row_bytes, nullptr) == 0) {
    const std::string message = header.message;
    png_image_free(&header);
    fail("[png] libpng cannot encode a picture of {} x {} pixels: {}", image.width, image.height, message);
  }
  file.resize(size);
  return file;
}

void write_png(const std::string& path, const RgbImage& image) { write_file_atomically(path, encode_png(image)); }

GreyImage decode_grey_png(std::span<const std::byte> file, const std::string& label) {
  PngReader png;
  png_image& header = png.header;
  const auto broken = [&] { fail_file("[png] '{}' cannot be read: {}", printable(label), printable(header.message)); };
  if (png_image_begin_read_from_memory(&header, file.data(), file.size()) == 0) broken();
  if (header.width > kLongestSideRead || header.height > kLongestSideRead) {
    fail_file("[png] '{}' is {} x {} pixels, expected at most {} a side", printable(label), header.width, header.height,
              kLongestSideRead);
  }
  header.format = PNG_FORMAT_GRAY;
  header.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  GreyImage image{header.width, header.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(header))};
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&header, &white, image.pixels.data(), 0, nullptr) == 0) broken();
  return image;
}

GreyImage read_grey_png(const std::string& path) { return decode_grey_png(MappedFile(path).bytes(), path); }

}  // namespace heed
