#include "heed/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::string environment(const char* name) { return is_set(name) ? std::getenv(name) : ""; }

// The parameters of a colour escape: 38 sets the letters, 48 what is behind them.
std::string escape(const Style& style, int ground, Colour c) {
  if (style.depth == Style::kTrueColour) return fmt::format("\x1b[{};2;{};{};{}m", ground, c.r, c.g, c.b);
  const auto step = [](int v) { return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40; };
  return fmt::format("\x1b[{};5;{}m", ground, 16 + 36 * step(c.r) + 6 * step(c.g) + step(c.b));
}

}  // namespace

int64_t terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Style stdout_style() {
  Style style;
  if (!isatty(STDOUT_FILENO)) return style;
  if (const int64_t columns = terminal_columns(STDOUT_FILENO); columns >= 20) style.columns = columns;
  if (is_set("NO_COLOR") || environment("TERM") == "dumb") return style;
  const std::string depth = environment("COLORTERM");
  style.depth = depth == "truecolor" || depth == "24bit" ? Style::kTrueColour : Style::k256;
  return style;
}

std::string on_background(const Style& style, Colour background, std::string_view text) {
  if (style.depth == Style::kPlain) return std::string(text);
  return escape(style, 48, background) + escape(style, 38, ink_on(background)) + std::string(text) + "\x1b[0m";
}

std::string in_colour(const Style& style, Colour colour, std::string_view text) {
  if (style.depth == Style::kPlain) return std::string(text);
  return escape(style, 38, colour) + std::string(text) + "\x1b[0m";
}

std::string bold(const Style& style, std::string_view text) {
  if (style.depth == Style::kPlain) return std::string(text);
  return "\x1b[1m" + std::string(text) + "\x1b[0m";
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  for (const char32_t c : text::to_code_points(text)) width += text::columns(c);
  return width;
}

std::string pad_left(std::string_view text, int64_t width) {
  return std::string(static_cast<size_t>(std::max<int64_t>(0, width - display_width(text))), ' ') + std::string(text);
}

std::string pad_right(std::string_view text, int64_t width) {
  return std::string(text) + std::string(static_cast<size_t>(std::max<int64_t>(0, width - display_width(text))), ' ');
}

}  // namespace heed::cli
