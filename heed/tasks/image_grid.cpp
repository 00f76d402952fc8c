#include "heed/tasks/image_grid.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace heed::tasks {
namespace {

using Colour = std::array<uint8_t, 3>;
constexpr Colour kGround = {24, 30, 42}, kBlank = {58, 86, 150};
constexpr int64_t kSide = 56;  // of a picture on the grid, at least half of it
constexpr int64_t kGap = 4;

void set(RgbImage& image, int64_t x, int64_t y, const Colour& colour) {
  std::copy(colour.begin(), colour.end(), image.pixels.begin() + 3 * (y * image.width + x));
}

Colour get(const RgbImage& image, int64_t x, int64_t y) {
  const size_t at = static_cast<size_t>(3 * (y * image.width + x));
  return {image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]};
}

}  // namespace

RgbImage picture_of(const GreyImage& image, int64_t shown) {
  RgbImage picture{image.width, image.height, {}};
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const uint8_t grey = image.pixels[i];
    const Colour colour = static_cast<int64_t>(i) < shown ? Colour{grey, grey, grey} : kBlank;
    picture.pixels.insert(picture.pixels.end(), colour.begin(), colour.end());
  }
  return picture;
}

RgbImage image_grid(const std::vector<RgbImage>& pictures, int64_t columns) {
  const auto count = static_cast<int64_t>(pictures.size());
  if (columns == 0) columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int64_t rows = (count + columns - 1) / columns;
  const RgbImage& first = pictures.at(0);
  const int64_t scale = std::max<int64_t>(1, kSide / std::max(first.width, first.height));
  const int64_t wide = scale * first.width + kGap, high = scale * first.height + kGap;
  RgbImage grid{columns * wide + kGap, rows * high + kGap, {}};
  grid.pixels.resize(static_cast<size_t>(3 * grid.width * grid.height));
  for (int64_t i = 0; i < grid.width * grid.height; ++i) set(grid, i % grid.width, i / grid.width, kGround);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t left = kGap + i % columns * wide, top = kGap + i / columns * high;
    for (int64_t at = 0; at < scale * first.width * scale * first.height; ++at) {
      const int64_t x = at % (scale * first.width), y = at / (scale * first.width);
      set(grid, left + x, top + y, get(pictures[static_cast<size_t>(i)], x / scale, y / scale));
    }
  }
  return grid;
}

}  // namespace heed::tasks
