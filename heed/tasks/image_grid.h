// Small pictures as one that people can look at.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/io/png.h"

namespace heed::tasks {

// A picture in grey, of which the first pixels are shown; the others are left blank, in a colour of their own.
RgbImage picture_of(const GreyImage& image, int64_t shown);
inline RgbImage picture_of(const GreyImage& image) { return picture_of(image, image.width * image.height); }

// Pictures of one size row by row, their pixels enlarged where they are small. Without columns it is about square.
RgbImage image_grid(const std::vector<RgbImage>& pictures, int64_t columns = 0);

}  // namespace heed::tasks
