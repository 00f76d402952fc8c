#include "heed/cli/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace heed::cli {
namespace {

constexpr Colour kSequentialStops[] = {
    {246, 249, 253}, {200, 221, 240}, {120, 174, 216}, {46, 114, 178}, {12, 48, 104}};
constexpr Colour kDivergingStops[] = {{27, 82, 152}, {122, 170, 214}, {248, 248, 246}, {232, 146, 110}, {166, 32, 44}};

uint8_t mix(uint8_t a, uint8_t b, double t) { return static_cast<uint8_t>(std::lround(a + (b - a) * t)); }

}  // namespace

Colour colour_at(Palette palette, double at) {
  const std::span<const Colour> stops = palette == Palette::kSequential ? kSequentialStops : kDivergingStops;
  if (!(at > 0)) at = 0;
  const double along = std::min(at, 1.0) * static_cast<double>(stops.size() - 1);
  const auto i = std::min(static_cast<size_t>(along), stops.size() - 2);
  const double t = along - static_cast<double>(i);
  const Colour a = stops[i], b = stops[i + 1];
  return {mix(a.r, b.r, t), mix(a.g, b.g, t), mix(a.b, b.b, t)};
}

Colour ink_on(Colour c) {
  const double luminance = 0.299 * c.r + 0.587 * c.g + 0.114 * c.b;
  return luminance > 140 ? kInk : kPaper;
}

Colour series_colour(int64_t i) {
  static constexpr Colour kSeries[] = {{31, 105, 178}, {214, 96, 36},  {38, 142, 90},  {150, 74, 168},
                                       {196, 44, 72},  {16, 148, 164}, {146, 110, 28}, {92, 100, 112}};
  return kSeries[i % 8];
}

std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

}  // namespace heed::cli
