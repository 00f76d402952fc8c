// What standard output can show, and how wide text is on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/cli/palette.h"

namespace heed::cli {

struct Style {
  enum Depth { kPlain, k256, kTrueColour };
  Depth depth = kPlain;
  int64_t columns = 100;
};
// Colours only on a terminal and while NO_COLOR is unset.
Style stdout_style();

// Text on a background, or the text alone where there are no colours.
std::string on_background(const Style& style, Colour background, std::string_view text);
std::string in_colour(const Style& style, Colour colour, std::string_view text);
std::string bold(const Style& style, std::string_view text);

// Of the terminal at a file descriptor; 0 where there is none.
int64_t terminal_columns(int descriptor);

// Columns on a terminal, as text::columns() counts them.
int64_t display_width(std::string_view text);
std::string pad_left(std::string_view text, int64_t width);
std::string pad_right(std::string_view text, int64_t width);

}  // namespace heed::cli
