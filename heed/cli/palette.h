// Colours for numbers, shared by the terminal and the pictures.
#pragma once

#include <cstdint>
#include <string>

namespace heed::cli {

struct Colour {
  uint8_t r, g, b;
};

enum class Palette {
  kSequential,  // light to dark: weights, counts
  kDiverging,   // blue, white, red: values on both sides of zero
};
// at in [0, 1]; outside is clamped.
Colour colour_at(Palette palette, double at);
// Black or white, whichever reads better on this background.
Colour ink_on(Colour background);
// Clearly different line colours, repeating after eight.
Colour series_colour(int64_t i);
std::string hex(Colour c);

constexpr Colour kInk{34, 40, 49}, kSoftInk{110, 118, 129}, kFaint{222, 226, 231}, kPaper{255, 255, 255},
    kHidden{236, 238, 241};

}  // namespace heed::cli
