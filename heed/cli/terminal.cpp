#include "heed/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

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

bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
         (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

bool is_combining(char32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x1160 && c <= 0x11ff) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0xfe00 && c <= 0xfe0f);
}

}  // namespace

Style stdout_style() {
  Style style;
  if (!isatty(STDOUT_FILENO)) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) style.columns = size.ws_col;
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

char32_t next_code_point(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  if (more == 0) return first < 0x80 ? first : 0xfffd;
  char32_t c = first & (0x3f >> more);
  for (int i = 0; i < more; ++i) {
    if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return 0xfffd;
    c = c << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  return c;
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    width += is_combining(c) ? 0 : is_wide(c) ? 2 : 1;
  }
  return width;
}

std::string pad_left(std::string_view text, int64_t width) {
  return std::string(static_cast<size_t>(std::max<int64_t>(0, width - display_width(text))), ' ') + std::string(text);
}

std::string pad_right(std::string_view text, int64_t width) {
  return std::string(text) + std::string(static_cast<size_t>(std::max<int64_t>(0, width - display_width(text))), ' ');
}

}  // namespace heed::cli
