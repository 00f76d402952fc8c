// Images as sequences of ids: first an id for the class, or one for all, then the grey level of each pixel, row by row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heed/io/png.h"

namespace heed::data {

// What the ids of a model mean; MODEL/pixels.json holds it. Levels are the ids 0 to levels - 1, starts follow them.
struct PixelFormat {
  int64_t width = 0, height = 0;
  int64_t levels = 0;                     // of grey, the brightest last
  std::vector<std::string> classes = {};  // names in the order of their starts; none: images begin alike

  int64_t pixels() const { return width * height; }
  int64_t vocabulary() const;
  // The id that an image of a class begins with; -1 where there are no classes.
  int32_t start(int64_t of_class) const;
  // {"type": "pixels", "version": 1, "width": 14, "height": 14, "levels": 16, "classes": ["shirt", ...]}
  std::string json() const;
  // `label` stands for the file's name in messages.
  static PixelFormat parse(const std::string& json, const std::string& label);
  static PixelFormat read(const std::string& folder);
  static bool in(const std::string& folder);
};

// 256 values in so many steps of (almost) one size, the darkest first.
int32_t level_of(uint8_t grey, int64_t levels);
// The value of a level to be seen: 0 of the first, 255 of the last; level_of() gives the level back.
uint8_t grey_of(int32_t level, int64_t levels);

// The mean of each square of factor x factor pixels, rounded. The factor divides both sides.
GreyImage reduced(const GreyImage& image, int64_t factor);

std::vector<int32_t> levels_of(const GreyImage& image, int64_t levels);
// Of one image, without its start.
GreyImage image_of(std::span<const int32_t> levels, const PixelFormat& format);

}  // namespace heed::data
