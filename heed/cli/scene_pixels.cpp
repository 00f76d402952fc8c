// The pixel backend: everything becomes closed outlines, filled with exact area coverage.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "heed/cli/font_outlines.h"
#include "heed/cli/hangul.h"
#include "heed/cli/scene.h"
#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

// Coverage of each pixel by outlines. An edge adds the area to its right within its row of pixels; the running sum
// along a row is then how much of each pixel lies inside.
class Coverage {
 public:
  Coverage(int64_t width, int64_t height)
      : width_(width), height_(height), area_(static_cast<size_t>((width + 2) * height)) {}

  void edge(Point from, Point to) {
    if (from.y == to.y) return;
    const double direction = from.y < to.y ? 1 : -1;
    if (from.y > to.y) std::swap(from, to);
    const double slope = (to.x - from.x) / (to.y - from.y);
    const double top = std::max(from.y, 0.0), bottom = std::min(to.y, static_cast<double>(height_));
    for (auto row = static_cast<int64_t>(top); static_cast<double>(row) < bottom; ++row) {
      const double y0 = std::max(top, static_cast<double>(row)), y1 = std::min(bottom, static_cast<double>(row + 1));
      piece(row, from.x + (y0 - from.y) * slope, from.x + (y1 - from.y) * slope, direction * (y1 - y0));
    }
  }

  void outline(const std::vector<Point>& points) {
    for (size_t i = 0; i < points.size(); ++i) edge(points[i], points[(i + 1) % points.size()]);
  }

  // Blends the colour into the picture and forgets the outlines.
  void paint(RgbImage& image, Colour colour) {
    const uint8_t rgb[] = {colour.r, colour.g, colour.b};
    for (int64_t y = first_row_; y <= last_row_; ++y) {
      double inside = 0;
      for (int64_t x = first_column_; x <= std::min(last_column_, width_ - 1); ++x) {
        double& cell = area_[static_cast<size_t>(y * (width_ + 2) + x)];
        inside += cell;
        cell = 0;
        const double cover = std::min(std::abs(inside), 1.0);
        if (cover < 1e-4) continue;
        uint8_t* pixel = &image.pixels[static_cast<size_t>(3 * (y * width_ + x))];
        for (int i = 0; i < 3; ++i)
          pixel[i] = static_cast<uint8_t>(std::lround(pixel[i] + (rgb[i] - pixel[i]) * cover));
      }
      for (int64_t x = width_; x < width_ + 2; ++x) area_[static_cast<size_t>(y * (width_ + 2) + x)] = 0;
    }
    first_row_ = height_;
    first_column_ = width_;
    last_row_ = last_column_ = -1;
  }

 private:
  // A straight edge within one row from x0 to x1, of signed height h.
  void piece(int64_t row, double x0, double x1, double h) {
    first_row_ = std::min(first_row_, row);
    last_row_ = std::max(last_row_, row);
    const auto limit = static_cast<double>(width_);
    x0 = std::clamp(x0, 0.0, limit);
    x1 = std::clamp(x1, 0.0, limit);
    if (x0 > x1) std::swap(x0, x1);
    double* area = &area_[static_cast<size_t>(row * (width_ + 2))];
    const auto first = static_cast<int64_t>(x0), last = static_cast<int64_t>(x1);
    first_column_ = std::min(first_column_, first);
    last_column_ = std::max(last_column_, last + 1);
    for (int64_t x = first; x <= last; ++x) {
      const double a = std::max(x0, static_cast<double>(x)), b = std::min(x1, static_cast<double>(x + 1));
      const double share = x1 > x0 ? h * (b - a) / (x1 - x0) : h;
      const double right = 1 - ((a + b) / 2 - static_cast<double>(x));
      area[x] += share * right;
      area[x + 1] += share * (1 - right);
    }
  }

  int64_t width_, height_;
  int64_t first_row_ = height_, last_row_ = -1, first_column_ = width_, last_column_ = -1;
  std::vector<double> area_;
};

const Glyph* find_glyph(char32_t c) {
  const Glyph* end = kGlyphs + kGlyphCount;
  const Glyph* found =
      std::lower_bound(kGlyphs, end, static_cast<int>(c), [](const Glyph& g, int code) { return g.code_point < code; });
  return found != end && found->code_point == static_cast<int>(c) ? found : nullptr;
}

// A character the font does not have takes the place it has on a terminal, as an empty frame.
double advance_of(char32_t c, int64_t columns) {
  const Glyph* glyph = find_glyph(c);
  return glyph != nullptr ? glyph->advance / 1024.0 : columns == 2 ? 1.0 : columns == 1 ? 0.55 : 0;
}

template <class F>
void for_each_character(const std::string& text, F f) {
  for (const char32_t c : text::to_code_points(text)) f(c, text::columns(c));
}

// The contours of a glyph, curves cut into short lines; font units with y upwards.
std::vector<std::vector<Point>> contours_of(const Glyph& glyph) {
  std::vector<std::vector<Point>> contours;
  std::vector<Point> points;
  std::vector<bool> on_curve;
  for (const char* s = glyph.points; *s != '\0'; s += 4) {
    const int x = (s[0] - '0') * 64 + s[1] - '0', y = (s[2] - '0') * 64 + s[3] - '0';
    points.push_back({static_cast<double>((x & 2047) - 256), static_cast<double>((y & 2047) - 512)});
    on_curve.push_back(x < 2048);
    if (y < 2048) continue;
    std::vector<Point> flat;
    for (size_t i = 0; i < points.size(); ++i) {
      if (on_curve[i]) {
        flat.push_back(points[i]);
        continue;
      }
      const Point a = points[i - 1], control = points[i], b = points[(i + 1) % points.size()];
      for (int step = 1; step < 6; ++step) {
        const double t = step / 6.0, u = 1 - t;
        flat.push_back(
            {u * u * a.x + 2 * u * t * control.x + t * t * b.x, u * u * a.y + 2 * u * t * control.y + t * t * b.y});
      }
    }
    contours.push_back(flat);
    points.clear();
    on_curve.clear();
  }
  return contours;
}

class Painter {
 public:
  Painter(int64_t width, int64_t height, double scale)
      : scale_(scale), image_{width, height, {}}, coverage_(width, height) {
    image_.pixels.assign(static_cast<size_t>(image_.width * image_.height * 3), 255);
  }

  void draw(const Scene::Box& b) {
    outline({{b.x, b.y}, {b.x + b.width, b.y}, {b.x + b.width, b.y + b.height}, {b.x, b.y + b.height}});
    coverage_.paint(image_, b.fill);
  }

  // A segment is a long box, a corner and an end are round.
  void draw(const Scene::Line& line) {
    const double r = line.width / 2;
    for (size_t i = 0; i < line.points.size(); ++i) {
      const Point a = line.points[i];
      std::vector<Point> disc;
      for (int k = 0; k < 12; ++k) {
        const double angle = k * std::numbers::pi / 6;
        disc.push_back({a.x + r * std::cos(angle), a.y + r * std::sin(angle)});
      }
      if (line.points.size() > 2) outline(disc);
      if (i + 1 == line.points.size()) break;
      const Point b = line.points[i + 1];
      const double length = std::hypot(b.x - a.x, b.y - a.y);
      if (length == 0) continue;
      const double nx = -(b.y - a.y) / length * r, ny = (b.x - a.x) / length * r;
      outline({{a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}, {a.x + nx, a.y + ny}});
    }
    coverage_.paint(image_, line.colour);
  }

  void draw(const Scene::Text& t) {
    const double shift = t.anchor == Scene::Anchor::kStart ? 0 : t.anchor == Scene::Anchor::kMiddle ? 0.5 : 1;
    double pen = -shift * text_width(t.text, t.size);
    for_each_character(t.text, [&](char32_t c, int64_t columns) {
      if (const Glyph* glyph = find_glyph(c)) {
        for (const std::vector<Point>& contour : contours_of(*glyph)) place(contour, t, pen, t.size / 1024);
      } else if (is_hangul(c)) {
        for (const std::vector<Point>& contour : hangul_outlines(c)) place(contour, t, pen, t.size);
      } else if (columns > 0) {
        const double w = advance_of(c, columns);
        place({{0.08 * w, 0}, {0.92 * w, 0}, {0.92 * w, 0.75}, {0.08 * w, 0.75}}, t, pen, t.size);
        place({{0.14 * w, 0.06}, {0.14 * w, 0.69}, {0.86 * w, 0.69}, {0.86 * w, 0.06}}, t, pen, t.size);
      }
      pen += advance_of(c, columns) * t.size;
    });
    coverage_.paint(image_, t.colour);
  }

  RgbImage take() { return std::move(image_); }

 private:
  void outline(std::vector<Point> points) {
    for (Point& p : points) p = {p.x * scale_, p.y * scale_};
    coverage_.outline(points);
  }

  void place(std::vector<Point> points, const Scene::Text& t, double pen, double unit) {
    for (Point& p : points) {
      const double along = pen + p.x * unit, up = p.y * unit;
      p = t.upwards ? Point{t.at.x - up, t.at.y - along} : Point{t.at.x + along, t.at.y - up};
    }
    outline(std::move(points));
  }

  double scale_;
  RgbImage image_;
  Coverage coverage_;
};

}  // namespace

bool has_all_characters(const Scene& scene) {
  bool all = true;
  for (const auto& item : scene.items) {
    if (const auto* text = std::get_if<Scene::Text>(&item)) {
      for_each_character(text->text, [&](char32_t c, int64_t columns) {
        all &= columns == 0 || find_glyph(c) != nullptr || is_hangul(c);
      });
    }
  }
  return all;
}

double text_width(const std::string& text, double size) {
  double width = 0;
  for_each_character(text, [&](char32_t c, int64_t columns) { width += advance_of(c, columns) * size; });
  return width;
}

RgbImage to_pixels(const Scene& scene, double scale) {
  const int64_t width = std::llround(scene.width * scale), height = std::llround(scene.height * scale);
  check_png_size(width, height);
  Painter painter(width, height, scale);
  for (const auto& item : scene.items) {
    std::visit([&](const auto& shape) { painter.draw(shape); }, item);
  }
  return painter.take();
}

}  // namespace heed::cli
