#include "heed/train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace heed::train {
namespace {

constexpr double kWidth = 760, kHeight = 200, kLeft = 64, kTop = 34, kGap = 56;

struct Extent {
  double least = INFINITY, most = -INFINITY;
  void take(double v) { least = std::min(least, v), most = std::max(most, v); }
  // What is all but one value gets room around it: its last digits are no news.
  void widen() {
    const double room = 0.01 * std::max(std::abs(least), std::abs(most));
    if (most - least < room) least -= room, most += room;
  }
  double share(double v) const { return most > least ? (v - least) / (most - least) : 0.5; }
};

}  // namespace

void CurvePoints::add(double x, double y) {
  constexpr size_t kMost = 800;  // of sums, on 760 points of a picture
  if (sums_.empty() || sums_.back().count == together_) {
    if (sums_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) {
        const Sum &a = sums_[2 * i], &b = sums_[2 * i + 1];
        sums_[i] = {a.x + b.x, a.y + b.y, a.count + b.count};
      }
      sums_.resize(kMost / 2);
      together_ *= 2;
    }
    sums_.emplace_back();
  }
  Sum& sum = sums_.back();
  sum.x += x, sum.y += y, ++sum.count;
}

std::vector<Point> CurvePoints::means() const {
  std::vector<Point> all;
  for (const Sum& s : sums_) all.push_back({s.x / static_cast<double>(s.count), s.y / static_cast<double>(s.count)});
  return all;
}

Curves::Curves()
    : panels_{{"loss by token", {{"loss", "training", "#2563eb", {}}, {"valid_loss", "validation", "#dc2626", {}}}},
              {"validation BLEU and chrF", {{"bleu", "BLEU", "#059669", {}}, {"chrf", "chrF", "#a16207", {}}}},
              {"validation bits by byte of text", {{"bits_per_byte", "", "#059669", {}}}},
              {"validation bits by dimension", {{"bits_per_dim", "", "#059669", {}}}},
              {"learning rate", {{"learning_rate", "", "#7c3aed", {}}}}} {}

void Curves::add(const nlohmann::json& line) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number()) return;
  for (Panel& panel : panels_) {
    for (Curve& c : panel.curves) {
      if (line.contains(c.key) && line[c.key].is_number())
        c.points.add(line["step"].get<double>(), line[c.key].get<double>());
    }
  }
}

std::string Curves::draw(const Panel& panel, double top) {
  Extent xs, ys;
  for (const Curve& c : panel.curves) {
    for (const Point& p : c.points.means()) xs.take(p.x), ys.take(p.y);
  }
  ys.widen();
  std::string svg = fmt::format(
      "<text x='{}' y='{}' class='title'>{}</text><rect x='{}' y='{}' width='{}' height='{}' class='frame'/>\n", kLeft,
      top - 10, panel.title, kLeft, top, kWidth, kHeight);
  for (int i = 0; i <= 4; ++i) {
    const double at = i / 4.0, y = top + kHeight * (1 - at), x = kLeft + kWidth * at;
    svg += fmt::format("<text x='{}' y='{:.1f}' class='number' text-anchor='end'>{:.3g}</text>\n", kLeft - 6, y + 4,
                       ys.least + at * (ys.most - ys.least));
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' class='number' text-anchor='middle'>{:.0f}</text>\n", x,
                       top + kHeight + 15, xs.least + at * (xs.most - xs.least));
  }
  double legend = kLeft + kWidth;
  for (const Curve& c : panel.curves) {
    const std::vector<Point> points = c.points.means();
    if (points.empty()) continue;
    svg += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.6' points='", c.color);
    for (const Point& p : points) {
      svg += fmt::format("{:.1f},{:.1f} ", kLeft + kWidth * xs.share(p.x), top + kHeight * (1 - ys.share(p.y)));
    }
    svg += "'/>\n";
    svg += fmt::format("<text x='{:.1f}' y='{}' class='number' text-anchor='end' style='fill:{}'>{}</text>\n", legend,
                       top - 10, c.color, c.label);
    legend -= 30 + 6.2 * static_cast<double>(std::string_view(c.label).size());
  }
  return svg;
}

std::string Curves::svg() const {
  std::vector<Panel> panels = panels_;
  std::erase_if(panels, [](const Panel& p) {
    return std::all_of(p.curves.begin(), p.curves.end(), [](const Curve& c) { return c.points.means().empty(); });
  });
  const double height = kTop + static_cast<double>(panels.size()) * (kHeight + kGap);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}'>\n"
      "<style>text{{font-family:sans-serif;fill:#334155}}.title{{font-size:14px;font-weight:600}}"
      ".number{{font-size:11px}}.frame{{fill:none;stroke:#cbd5e1}}</style>\n"
      "<rect width='100%' height='100%' fill='white'/>\n",
      kLeft + kWidth + 24, height);
  double top = kTop;
  for (const Panel& panel : panels) {
    svg += draw(panel, top);
    top += kHeight + kGap;
  }
  return svg + "</svg>\n";
}

}  // namespace heed::train
