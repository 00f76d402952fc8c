#include "heed/train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace heed::train {
namespace {

struct Curve {
  const char *key, *label, *color;
  std::vector<double> x, y;
};

// One panel: its curves share the axes.
struct Panel {
  const char* title;
  std::vector<Curve> curves;
};

constexpr double kWidth = 760, kHeight = 200, kLeft = 64, kTop = 34, kGap = 56;

// Thousands of steps on 760 points: means of neighbours.
Curve thinned(const Curve& c) {
  constexpr size_t kMost = 400;
  if (c.x.size() <= kMost) return c;
  Curve out{c.key, c.label, c.color, {}, {}};
  for (size_t i = 0; i < kMost; ++i) {
    const size_t begin = i * c.x.size() / kMost, end = (i + 1) * c.x.size() / kMost;
    double x = 0, y = 0;
    for (size_t j = begin; j < end; ++j) x += c.x[j], y += c.y[j];
    out.x.push_back(x / static_cast<double>(end - begin)), out.y.push_back(y / static_cast<double>(end - begin));
  }
  return out;
}

struct Extent {
  double least = INFINITY, most = -INFINITY;
  void take(const std::vector<double>& values) {
    for (const double v : values) least = std::min(least, v), most = std::max(most, v);
  }
  double share(double v) const { return most > least ? (v - least) / (most - least) : 0.5; }
};

std::string draw(const Panel& panel, double top) {
  Extent xs, ys;
  for (const Curve& c : panel.curves) xs.take(c.x), ys.take(c.y);
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
  for (const Curve& whole : panel.curves) {
    const Curve c = thinned(whole);
    if (c.x.empty()) continue;
    svg += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.6' points='", c.color);
    for (size_t i = 0; i < c.x.size(); ++i) {
      svg += fmt::format("{:.1f},{:.1f} ", kLeft + kWidth * xs.share(c.x[i]), top + kHeight * (1 - ys.share(c.y[i])));
    }
    svg += "'/>\n";
    svg += fmt::format("<text x='{:.1f}' y='{}' class='number' text-anchor='end' fill='{}'>{}</text>\n", legend,
                       top - 10, c.color, c.label);
    legend -= 110;
  }
  return svg;
}

}  // namespace

std::string curves_svg(const std::string& jsonl) {
  std::vector<Panel> panels{
      {"loss by token", {{"loss", "training", "#2563eb", {}, {}}, {"valid_loss", "validation", "#dc2626", {}, {}}}},
      {"validation BLEU and chrF", {{"bleu", "BLEU", "#059669", {}, {}}, {"chrf", "chrF", "#a16207", {}, {}}}},
      {"learning rate", {{"learning_rate", "", "#7c3aed", {}, {}}}}};
  std::istringstream lines(jsonl);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
    if (!parsed.is_object() || !parsed.contains("step") || !parsed["step"].is_number()) continue;
    for (Panel& panel : panels) {
      for (Curve& c : panel.curves) {
        if (!parsed.contains(c.key) || !parsed[c.key].is_number()) continue;
        c.x.push_back(parsed["step"].get<double>()), c.y.push_back(parsed[c.key].get<double>());
      }
    }
  }
  std::erase_if(panels, [](const Panel& p) {
    return std::all_of(p.curves.begin(), p.curves.end(), [](const Curve& c) { return c.x.empty(); });
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
