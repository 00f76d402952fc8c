#include "heed/cli/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed::cli {
namespace {

constexpr double kMargin = 28, kGap = 26, kWidest = 1180, kTitle = 21, kSubtitle = 15, kBody = 13, kSmall = 11;
constexpr int64_t kMostCells = 256;

std::string cell_text(double value, int decimals) {
  if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
  if (value == 0) value = 0;
  if (decimals == -2) return fmt::format("{:g}", value);
  if (decimals == -3) return fmt::format("{:.2g}", value);
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == text.npos && text[0] == '-' ? text.substr(1) : text;  // not "-0.00"
}

double widest_name(const Grid& grid, bool of_rows) {
  double width = 0;
  for (int64_t i = 0; i < (of_rows ? grid.rows : grid.columns); ++i) {
    width = std::max(width, text_width(of_rows ? grid.row_name(i) : grid.column_name(i), kSmall));
  }
  return width;
}

// Where rows end, such that none is wider than `widest`: the number of panels in each.
std::vector<size_t> rows_within(const std::vector<double>& widths, double widest) {
  std::vector<size_t> rows;
  double x = 0;
  for (const double width : widths) {
    if (rows.empty() || x + width > widest) {
      rows.push_back(0);
      x = 0;
    }
    ++rows.back();
    x += width + kGap * 1.4;
  }
  return rows;
}

// As few rows as fit the page, and then as even as they get.
std::vector<size_t> even_rows(const std::vector<double>& widths) {
  double widest = kWidest - kMargin;
  std::vector<size_t> rows = rows_within(widths, widest);
  const size_t fewest = rows.size();
  while (widest > 100) {
    std::vector<size_t> tighter = rows_within(widths, widest -= 10);
    if (tighter.size() > fewest) break;
    rows = std::move(tighter);
  }
  return rows;
}

}  // namespace

Grid thinned(const Grid& grid, int64_t most) {
  const int64_t row_step = (grid.rows + most - 1) / most, column_step = (grid.columns + most - 1) / most;
  if (row_step <= 1 && column_step <= 1) return grid;
  Grid out;
  for (int64_t c = 0; c < grid.columns; c += column_step) out.column_names.push_back(grid.column_name(c));
  for (int64_t r = 0; r < grid.rows; r += row_step) {
    out.row_names.push_back(grid.row_name(r));
    for (int64_t c = 0; c < grid.columns; c += column_step) out.values.push_back(grid.at(r, c));
  }
  out.rows = static_cast<int64_t>(out.row_names.size());
  out.columns = static_cast<int64_t>(out.column_names.size());
  return out;
}

std::vector<double> ticks(double low, double high, int count) {
  // So near each other, steps between them would be rounded away.
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) return {low};
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double in_power = rough / power;
  const double step = power * (in_power < 1.5 ? 1 : in_power < 3.5 ? 2 : in_power < 7.5 ? 5 : 10);
  std::vector<double> out;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    out.push_back(k == 0 ? 0 : k * step);  // not "-0"
  return out;
}

Page::Page(const std::string& title) : y_(kMargin) {
  add({kMargin, y_ + kTitle * 0.8}, title, kTitle);
  took(text_width(title, kTitle), kTitle + 10);
}

void Page::add(Point at, const std::string& text, double size, Colour colour, Scene::Anchor anchor) {
  scene_.items.push_back(Scene::Text{at, text, size, colour, anchor, false});
}

void Page::took(double width, double height) {
  scene_.width = std::max(scene_.width, width + 2 * kMargin);
  y_ += height;
}

void Page::text(const std::string& line) {
  add({kMargin, y_ + kBody}, line, kBody, kSoftInk);
  took(text_width(line, kBody), kBody + 7);
}

void Page::subtitle(const std::string& title) {
  if (title.empty()) return;
  add({kMargin, y_ + 10 + kSubtitle}, title, kSubtitle);
  took(text_width(title, kSubtitle), kSubtitle + 22);
}

void Page::draw_cells(Point at, const HeatPanel& panel, double cell) {
  const Grid& grid = panel.grid;
  const double size = std::min(kBody, cell * 0.34);
  const double line = cell > 6 ? 1 : 0;  // a hair of paper between cells, while there is room for it
  for (int64_t r = 0; r < grid.rows; ++r) {
    for (int64_t c = 0; c < grid.columns; ++c) {
      const double value = grid.at(r, c);
      const Colour fill = std::isfinite(value) ? colour_at(panel.scale.palette, panel.scale.at(value)) : kHidden;
      const double x = at.x + static_cast<double>(c) * cell, y = at.y + static_cast<double>(r) * cell;
      scene_.items.push_back(Scene::Box{x, y, cell - line, cell - line, fill});
      if (panel.decimals == -1 || cell < 26) continue;
      const std::string text = cell_text(value, panel.decimals);
      const double fit = std::min(size, size * (cell - 5) / std::max(1.0, text_width(text, size)));
      if (fit >= 6.5) {
        const Colour ink = std::isfinite(value) ? ink_on(fill) : kSoftInk;
        add({x + cell / 2, y + cell / 2 + fit * 0.36}, text, fit, ink, Scene::Anchor::kMiddle);
      }
    }
  }
}

void Page::draw_key(Point at, double width, const Scale& scale) {
  const int steps = 48;
  for (int i = 0; i < steps; ++i) {
    const double x = at.x + width * i / steps;
    scene_.items.push_back(Scene::Box{x, at.y, width / steps + 0.3, 8, colour_at(scale.palette, (i + 0.5) / steps)});
  }
  add({at.x, at.y + 21}, fmt::format("{:.3g}", scale.low), kSmall, kSoftInk);
  add({at.x + width, at.y + 21}, fmt::format("{:.3g}", scale.high), kSmall, kSoftInk, Scene::Anchor::kEnd);
}

Page::Size Page::draw_heat(Point at, const HeatPanel& panel, double cell) {
  const Grid& grid = panel.grid;
  const double y_name = panel.y_name.empty() ? 0 : 18;
  const double left = widest_name(grid, true) + 8 + y_name, top = kSubtitle + 30;
  const double width = cell * static_cast<double>(grid.columns), height = cell * static_cast<double>(grid.rows);
  add({at.x, at.y + kSubtitle}, panel.title, kSubtitle);
  const Point corner{at.x + left, at.y + top};
  draw_cells(corner, panel, cell);
  // Names only as often as they fit.
  const auto column_step = static_cast<int64_t>(std::ceil((widest_name(grid, false) + 4) / cell));
  const auto row_step = static_cast<int64_t>(std::ceil((kSmall + 1) / cell));
  for (int64_t c = 0; c < grid.columns; c += column_step) {
    const double x = corner.x + (static_cast<double>(c) + 0.5) * cell;
    add({x, corner.y - 6}, grid.column_name(c), kSmall, kSoftInk, Scene::Anchor::kMiddle);
  }
  for (int64_t r = 0; r < grid.rows; r += row_step) {
    const double y = corner.y + (static_cast<double>(r) + 0.5) * cell + kSmall * 0.36;
    add({corner.x - 6, y}, grid.row_name(r), kSmall, kSoftInk, Scene::Anchor::kEnd);
  }
  double below = 14;
  if (!panel.x_name.empty()) {
    add({corner.x + width / 2, corner.y + height + 16}, panel.x_name, kSmall, kSoftInk, Scene::Anchor::kMiddle);
    below += 14;
  }
  if (!panel.y_name.empty()) {
    scene_.items.push_back(Scene::Text{
        {at.x + kSmall, corner.y + height / 2}, panel.y_name, kSmall, kSoftInk, Scene::Anchor::kMiddle, true});
  }
  if (panel.with_key) draw_key({corner.x, corner.y + height + below}, std::clamp(width, 60.0, 200.0), panel.scale);
  return {std::max(left + width, text_width(panel.title, kSubtitle)), top + height + below + (panel.with_key ? 30 : 4)};
}

void Page::heat(const std::vector<HeatPanel>& given) {
  std::vector<HeatPanel> panels = given;
  std::vector<double> cells, widths;
  for (HeatPanel& panel : panels) {
    panel.grid = thinned(panel.grid, kMostCells);
    const auto most = static_cast<double>(std::max(panel.grid.columns, panel.grid.rows));
    // Long names make cells larger while there is room: every column gets its name.
    const double named = panel.grid.column_names.empty() ? 0 : std::min(widest_name(panel.grid, false) + 5, 90.0);
    cells.push_back(std::clamp(std::floor(560 / most), 2.0, std::max(46.0, named)));
    const double width = widest_name(panel.grid, true) + 26 + cells.back() * static_cast<double>(panel.grid.columns);
    widths.push_back(std::max(width, text_width(panel.title, kSubtitle)));
  }
  y_ += 12;
  size_t next = 0;
  for (const size_t count : even_rows(widths)) {
    if (next > 0) y_ += kGap;
    double x = kMargin, row_height = 0;
    for (const size_t end = next + count; next < end; ++next) {
      const Size size = draw_heat({x, y_}, panels[next], cells[next]);
      row_height = std::max(row_height, size.height);
      x += size.width + kGap * 1.4;
      took(x - kMargin - kGap * 1.4, 0);
    }
    y_ += row_height;
  }
  took(0, 8);
}

void Page::draw_axes(Point at, const Chart& chart, Point low, Point high) {
  const auto px = [&](double x) { return at.x + (x - low.x) / (high.x - low.x) * chart.width; };
  const auto py = [&](double y) { return at.y + chart.height - (y - low.y) / (high.y - low.y) * chart.height; };
  for (const double y : ticks(low.y, high.y, 5)) {
    scene_.items.push_back(Scene::Line{{{at.x, py(y)}, {at.x + chart.width, py(y)}}, kFaint, 1});
    add({at.x - 8, py(y) + 4}, fmt::format("{:.4g}", y), kSmall, kSoftInk, Scene::Anchor::kEnd);
  }
  for (const double x : ticks(low.x, high.x, 8)) {
    scene_.items.push_back(Scene::Line{{{px(x), at.y + chart.height}, {px(x), at.y + chart.height + 4}}, kSoftInk, 1});
    add({px(x), at.y + chart.height + 17}, fmt::format("{:.6g}", x), kSmall, kSoftInk, Scene::Anchor::kMiddle);
  }
  scene_.items.push_back(
      Scene::Line{{{at.x, at.y + chart.height}, {at.x + chart.width, at.y + chart.height}}, kSoftInk, 1});
  add({at.x + chart.width / 2, at.y + chart.height + 36}, chart.x_name, kBody, kInk, Scene::Anchor::kMiddle);
  scene_.items.push_back(
      Scene::Text{{at.x - 56, at.y + chart.height / 2}, chart.y_name, kBody, kInk, Scene::Anchor::kMiddle, true});
}

void Page::chart(const Chart& chart) {
  subtitle(chart.title);
  Point low{INFINITY, 0}, high{-INFINITY, -INFINITY};
  for (const Chart::Series& s : chart.series) {
    for (size_t i = 0; i < s.x.size(); ++i) {
      low = {std::min(low.x, s.x[i]), std::min(low.y, s.y[i])};
      high = {std::max(high.x, s.x[i]), std::max(high.y, s.y[i])};
    }
  }
  if (!(high.x > low.x)) high.x = low.x + 1;
  if (!(high.y > low.y)) high.y = low.y + 1;
  high.y += (high.y - low.y) * 0.06;
  const Point at{kMargin + 66, y_ + 8};
  draw_axes(at, chart, low, high);
  const auto to_page = [&](double x, double y) {
    return Point{at.x + (x - low.x) / (high.x - low.x) * chart.width,
                 at.y + chart.height - (y - low.y) / (high.y - low.y) * chart.height};
  };
  double legend = at.y + 4;
  const bool named = chart.series.size() > 1;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const Chart::Series& s = chart.series[i];
    const Colour colour = series_colour(static_cast<int64_t>(i));
    std::vector<Point> points;
    for (size_t k = 0; k < s.x.size(); ++k) points.push_back(to_page(s.x[k], s.y[k]));
    scene_.items.push_back(Scene::Line{points, colour, 2});
    if (!named) continue;
    scene_.items.push_back(
        Scene::Line{{{at.x + chart.width + 16, legend}, {at.x + chart.width + 38, legend}}, colour, 3});
    add({at.x + chart.width + 46, legend + 4}, s.name, kBody);
    took(chart.width + 120 + text_width(s.name, kBody), 0);
    legend += 20;
  }
  for (const Chart::Mark& mark : chart.marks) {
    const Point p = to_page(mark.x, mark.y);
    scene_.items.push_back(Scene::Line{{p, {p.x + 0.01, p.y}, p}, series_colour(1), 8});
    const double width = text_width(mark.text, kSmall + 1);
    const bool fits = p.x + 10 + width < at.x + chart.width;
    add({fits ? p.x + 10 : p.x + 4, p.y - (fits ? 6 : 14)}, mark.text, kSmall + 1, kInk,
        fits ? Scene::Anchor::kStart : Scene::Anchor::kEnd);
  }
  took(66 + chart.width + 12, std::max(chart.height + 58, legend - y_));
}

void Page::bars(const Bars& bars) {
  subtitle(bars.title);
  double names = 0, most = 0;
  for (const Bars::Bar& bar : bars.bars) {
    names = std::max(names, text_width(bar.name, kBody));
    most = std::max(most, bar.value);
  }
  const double room = 420, x = kMargin + names + 12;
  for (const Bars::Bar& bar : bars.bars) {
    const double width = most > 0 ? std::max(1.0, room * bar.value / most) : 1;
    add({kMargin + names, y_ + 16}, bar.name, kBody, kInk, Scene::Anchor::kEnd);
    scene_.items.push_back(Scene::Box{x, y_ + 3, width, 18, series_colour(0)});
    add({x + width + 8, y_ + 16}, bar.text, kBody, kSoftInk);
    took(names + 12 + width + 8 + text_width(bar.text, kBody), 25);
  }
  took(0, 8);
}

void Page::table(const Table& table) {
  y_ += 10;
  std::vector<double> widths;
  for (size_t c = 0; c < table.head.size(); ++c) {
    double width = text_width(table.head[c], kBody);
    for (const auto& row : table.rows) width = std::max(width, text_width(row[c], kBody));
    widths.push_back(width);
  }
  double all = 0;
  for (const double width : widths) all += width + kGap;
  const auto draw_row = [&](const std::vector<std::string>& cells, Colour colour) {
    double x = kMargin;
    for (size_t c = 0; c < cells.size(); ++c) {
      const bool right = c < table.right.size() && table.right[c];
      add({right ? x + widths[c] : x, y_ + 15}, cells[c], kBody, colour,
          right ? Scene::Anchor::kEnd : Scene::Anchor::kStart);
      x += widths[c] + kGap;
    }
    took(all - kGap, 23);
  };
  draw_row(table.head, kSoftInk);
  scene_.items.push_back(Scene::Line{{{kMargin, y_}, {kMargin + all - kGap, y_}}, kSoftInk, 1});
  y_ += 3;
  for (const auto& row : table.rows) {
    draw_row(row, kInk);
    scene_.items.push_back(Scene::Line{{{kMargin, y_}, {kMargin + all - kGap, y_}}, kFaint, 1});
  }
  y_ += 10;
}

Scene Page::finish() {
  scene_.width = std::ceil(scene_.width);
  scene_.height = std::ceil(y_ + kMargin - 8);
  return std::move(scene_);
}

}  // namespace heed::cli
