// Pictures as PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heed {

struct RgbImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  // red, green, blue of each pixel, row by row from the top left
};

struct GreyImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  // 0 is black, 255 white; row by row from the top left
};

// The bytes of a PNG file: 8 bits a channel, the same bytes for the same picture.
std::vector<std::byte> encode_png(const RgbImage& image);

// An error where a picture would be larger than a file may be: before its pixels are there.
void check_png_size(int64_t width, int64_t height);

// Atomic (atomic_file.h).
void write_png(const std::string& path, const RgbImage& image);

// Any PNG file as grey: colours by their lightness, what is transparent on white, 16 bits rounded to 8. A file that is broken
// or larger than 4096 pixels a side is an error.
GreyImage read_grey_png(const std::string& path);
// From memory; `label` stands for the file's name in messages.
GreyImage decode_grey_png(std::span<const std::byte> file, const std::string& label);

}  // namespace heed
