#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "heed/cli/render.h"

namespace heed::cli {
namespace {

// Dots of braille characters: two across and four down in each.
class Canvas {
 public:
  Canvas(int64_t width, int64_t height) : width_(width), height_(height), cells_(static_cast<size_t>(width * height)) {}

  void dot(int64_t x, int64_t y) {
    static constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= 2 * width_ || y >= 4 * height_) return;
    cells_[static_cast<size_t>(y / 4 * width_ + x / 2)] |= kBits[y % 4][x % 2];
  }

  // Every column of dots between two points gets at least one, so that a steep line has no holes.
  void line(double x0, double y0, double x1, double y1) {
    const auto steps = static_cast<int64_t>(std::ceil(std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1.0})));
    for (int64_t i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(steps);
      dot(std::llround(x0 + (x1 - x0) * t), std::llround(y0 + (y1 - y0) * t));
    }
  }

  std::string row(int64_t y) const {
    std::string text;
    for (int64_t x = 0; x < width_; ++x) {
      const int bits = cells_[static_cast<size_t>(y * width_ + x)];
      // U+2800 and the eight dots above it, in UTF-8.
      text += {static_cast<char>(0xe2), static_cast<char>(0xa0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3f))};
    }
    return text;
  }

 private:
  int64_t width_, height_;
  std::vector<int> cells_;
};

void draw(Canvas& canvas, const std::vector<double>& x, const std::vector<double>& y) {
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t before = i == 0 ? 0 : i - 1;
    canvas.line(x[before], y[before], x[i], y[i]);
  }
}

std::vector<double> stretched(const std::vector<double>& values, double low, double high, double first, double last) {
  std::vector<double> out(values);
  for (double& v : out) v = high > low ? first + (v - low) / (high - low) * (last - first) : first;
  return out;
}

}  // namespace

std::string curve_text(const Curve& curve, const Style& style) {
  const auto [x_low, x_high] = std::minmax_element(curve.x.begin(), curve.x.end());
  const double y_high = *std::max_element(curve.y.begin(), curve.y.end());
  const double y_low = std::min(0.0, *std::min_element(curve.y.begin(), curve.y.end()));
  const int64_t name_width = 10, width = std::clamp<int64_t>(style.columns - name_width - 6, 16, 72);
  Canvas canvas(width, curve.height);
  draw(canvas, stretched(curve.x, *x_low, *x_high, 0, static_cast<double>(2 * width - 1)),
       stretched(curve.y, y_low, y_high, static_cast<double>(4 * curve.height - 1), 0));
  std::string text = fmt::format("  {}\n", pad_left(curve.y_name, name_width));
  for (int64_t r = 0; r < curve.height; ++r) {
    std::string name;
    if (r == 0) name = fmt::format("{:.3g}", y_high);
    if (r == curve.height / 2) name = fmt::format("{:.3g}", (y_high + y_low) / 2);
    if (r == curve.height - 1) name = fmt::format("{:.3g}", y_low);
    text += fmt::format("  {} ┤{}\n", pad_left(name, name_width), in_colour(style, series_colour(0), canvas.row(r)));
  }
  const std::string left = fmt::format("{:g}", *x_low), right = fmt::format("{} {:g}", curve.x_name, *x_high);
  return text + fmt::format("{}{}{}\n", std::string(static_cast<size_t>(name_width + 4), ' '), left,
                            pad_left(right, width - static_cast<int64_t>(left.size())));
}

std::vector<std::string> wave_lines(const std::vector<double>& y, int64_t width, int64_t height, double low,
                                    double high) {
  Canvas canvas(width, height);
  std::vector<double> x;
  for (size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i));
  draw(canvas, stretched(x, 0, static_cast<double>(y.size()) - 1, 0, static_cast<double>(2 * width - 1)),
       stretched(y, low, high, static_cast<double>(4 * height - 1), 0));
  std::vector<std::string> lines;
  for (int64_t r = 0; r < height; ++r) lines.push_back(canvas.row(r));
  return lines;
}

}  // namespace heed::cli
