// Small images as files, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heed/io/png.h"

namespace heed::data {

inline std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

// The header of an IDX file of bytes.
inline std::string idx_header(const std::vector<uint32_t>& sizes, uint32_t type = 8) {
  std::string bytes = big_endian(type << 8 | static_cast<uint32_t>(sizes.size()));
  for (const uint32_t size : sizes) bytes += big_endian(size);
  return bytes;
}

inline std::string idx_images(const std::vector<GreyImage>& images) {
  const uint32_t height = images.empty() ? 1 : static_cast<uint32_t>(images[0].height),
                 width = images.empty() ? 1 : static_cast<uint32_t>(images[0].width);
  std::string bytes = idx_header({static_cast<uint32_t>(images.size()), height, width});
  for (const GreyImage& image : images) bytes.append(image.pixels.begin(), image.pixels.end());
  return bytes;
}

inline std::string idx_labels(const std::vector<uint8_t>& labels) {
  return idx_header({static_cast<uint32_t>(labels.size())}) + std::string(labels.begin(), labels.end());
}

// Class 0 has a bright upper half, class 1 a bright left half, class 2 is a board of squares; with a little noise.
inline GreyImage pattern(int64_t side, int64_t of_class, uint64_t noise) {
  GreyImage image{side, side, {}};
  for (int64_t i = 0; i < side * side; ++i) {
    const int64_t x = i % side, y = i / side;
    const bool bright = of_class == 0 ? 2 * y < side : of_class == 1 ? 2 * x < side : (x + y) % 2 == 0;
    noise = noise * 6364136223846793005 + 1442695040888963407;
    image.pixels.push_back(static_cast<uint8_t>((bright ? 200 : 20) + (noise >> 61)));
  }
  return image;
}

inline std::vector<GreyImage> patterns(int64_t count, int64_t side) {
  std::vector<GreyImage> images;
  for (int64_t i = 0; i < count; ++i) images.push_back(pattern(side, i % 3, static_cast<uint64_t>(i)));
  return images;
}
inline std::vector<uint8_t> pattern_labels(int64_t count) {
  std::vector<uint8_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(static_cast<uint8_t>(i % 3));
  return labels;
}

inline void put_png(const std::string& path, const GreyImage& image) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  RgbImage picture{image.width, image.height, {}};
  for (const uint8_t grey : image.pixels) picture.pixels.insert(picture.pixels.end(), 3, grey);
  write_png(path, picture);
}

}  // namespace heed::data
