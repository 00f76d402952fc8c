// Pictures as PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct RgbImage {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  // red, green, blue of each pixel, row by row from the top left
};

// The bytes of a PNG file: 8 bits a channel, the same bytes for the same picture.
std::vector<std::byte> encode_png(const RgbImage& image);

// Atomic (atomic_file.h).
void write_png(const std::string& path, const RgbImage& image);

}  // namespace heed
