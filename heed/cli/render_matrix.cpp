#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/cli/render.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostRows = 40;
constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};

std::string repeat(const std::string& text, int64_t times) {
  std::string all;
  for (int64_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string number(double value, int decimals) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) value = 0;  // not "-0"
  return decimals < 0 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{:.{}f}", value, decimals);
}

// Blank only where there is next to nothing.
const char* shade(double at) { return kShades[at < 0.02 ? 0 : 1 + std::min(3, static_cast<int>(at * 4))]; }

int64_t widest(const std::vector<std::string>& texts) {
  int64_t width = 0;
  for (const std::string& text : texts) width = std::max(width, display_width(text));
  return width;
}

int64_t row_name_width(const Grid& grid, const std::vector<int64_t>& rows) {
  int64_t width = 1;
  for (const int64_t r : rows) width = std::max(width, r < 0 ? 3 : display_width(grid.row_name(r)));
  return width;
}

}  // namespace

std::string Grid::row_name(int64_t r) const {
  return row_names.empty() ? std::to_string(r) : row_names[static_cast<size_t>(r)];
}

std::string Grid::column_name(int64_t c) const {
  return column_names.empty() ? std::to_string(c) : column_names[static_cast<size_t>(c)];
}

std::vector<std::string> numbered(const std::string& name, int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", name, i));
  return names;
}

Scale scale_of(const Grid& grid) {
  double low = 0, high = 0;
  for (const double value : grid.values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low >= 0) return {Palette::kSequential, 0, high > 0 ? high : 1};
  if (high <= 0) return {Palette::kSequential, low, 0};
  const double reach = std::max(-low, high);
  return {Palette::kDiverging, -reach, reach};
}

std::vector<int64_t> shown(int64_t count, int64_t most) {
  std::vector<int64_t> indices;
  most = std::max<int64_t>(most, 3);
  const int64_t head = count <= most ? count : most / 2, tail = count <= most ? 0 : most - 1 - head;
  for (int64_t i = 0; i < head; ++i) indices.push_back(i);
  if (count > most) indices.push_back(-1);
  for (int64_t i = count - tail; i < count; ++i) indices.push_back(i);
  return indices;
}

std::string matrix_text(const Grid& grid, const Style& style, int decimals) {
  const std::vector<int64_t> rows = shown(grid.rows, kMostRows);
  const int64_t name_width = row_name_width(grid, rows);
  // The widest cell decides how many columns fit; what is wider still is left out in the middle.
  int64_t cell = widest(grid.column_names);
  for (const int64_t r : rows) {
    for (int64_t c = 0; r >= 0 && c < grid.columns; ++c) {
      cell = std::max(cell, static_cast<int64_t>(number(grid.at(r, c), decimals).size()));
    }
  }
  const std::vector<int64_t> columns = shown(grid.columns, (style.columns - name_width - 4) / (cell + 2));
  std::string text(static_cast<size_t>(name_width + 4), ' ');
  for (const int64_t c : columns) text += pad_left(c < 0 ? "..." : grid.column_name(c), c < 0 ? 5 : cell + 2);
  text += "\n";
  for (const int64_t r : rows) {
    text += pad_left(r < 0 ? "..." : grid.row_name(r), name_width + 2) + " │";
    for (const int64_t c : columns) {
      if (c < 0) {
        text += "  ...";
      } else {
        text += pad_left(r < 0 ? "..." : number(grid.at(r, c), decimals), cell + 2);
      }
    }
    text += "\n";
  }
  return text;
}

std::string heat_text(const Grid& grid, const Style& style, const Scale& scale) {
  const std::vector<int64_t> rows = shown(grid.rows, kMostRows);
  const int64_t name_width = row_name_width(grid, rows);
  const int64_t room = style.columns - name_width - 4;
  const int64_t names =
      std::max(widest(grid.column_names), static_cast<int64_t>(std::to_string(grid.columns - 1).size()));
  const bool named = grid.columns * (names + 2) <= room;
  const int64_t cell =
      named ? std::max<int64_t>(6, names + 2) * grid.columns <= room ? std::max<int64_t>(6, names + 2) : names + 2
      : grid.columns * 2 <= room ? 2
                                 : 1;
  const std::vector<int64_t> columns = shown(grid.columns, room / cell);
  std::string text;
  if (named) {
    text += std::string(static_cast<size_t>(name_width + 4), ' ');
    for (const int64_t c : columns) text += pad_right(fmt::format(" {}", grid.column_name(c)), cell);
    text += "\n";
  }
  for (const int64_t r : rows) {
    text += pad_left(r < 0 ? "..." : grid.row_name(r), name_width + 2) + "  ";
    for (const int64_t c : columns) {
      if (r < 0 || c < 0) {
        text += pad_right(std::string(static_cast<size_t>(std::min<int64_t>(cell, 3)), '.'), cell);
        continue;
      }
      const double value = grid.at(r, c);
      const double at = std::isfinite(value) ? std::clamp(scale.at(value), 0.0, 1.0) : 0;
      if (style.depth == Style::kPlain) {
        text += repeat(std::isfinite(value) ? shade(at) : "·", cell);
      } else {
        const Colour colour = std::isfinite(value) ? colour_at(scale.palette, at) : kHidden;
        text += on_background(style, colour, pad_right(cell >= 6 ? fmt::format(" {}", number(value, 2)) : "", cell));
      }
    }
    text += "\n";
  }
  const auto key = [&](double at, const char* shade) {
    return style.depth == Style::kPlain ? repeat(shade, 2) : on_background(style, colour_at(scale.palette, at), "  ");
  };
  std::string legend;
  for (int i = 0; i < 5; ++i) legend += key(i / 4.0, kShades[i]);
  return text + fmt::format("  {}  {:.4g} [{}] {:.4g}\n", std::string(static_cast<size_t>(name_width), ' '), scale.low,
                            legend, scale.high);
}

std::string table_text(const Table& table, const Style& style) {
  std::vector<int64_t> widths;
  for (size_t c = 0; c < table.head.size(); ++c) {
    int64_t width = display_width(table.head[c]);
    for (const auto& row : table.rows) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t c = 0; c < cells.size(); ++c) {
      const bool right = c < table.right.size() && table.right[c];
      text += fmt::format("  {}", right ? pad_left(cells[c], widths[c]) : pad_right(cells[c], widths[c]));
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  };
  std::string text = bold(style, line(table.head)) + "\n  ";
  int64_t all = -2;
  for (const int64_t width : widths) all += width + 2;
  text += repeat("─", all) + "\n";
  for (const auto& row : table.rows) text += line(row) + "\n";
  return text;
}

std::string heading(const Style& style, const std::string& title, const std::string& note) {
  return fmt::format("{}{}{}\n", bold(style, title), note.empty() ? "" : "  ", in_colour(style, kSoftInk, note));
}

std::string section(const Style& style, const std::string& title, const std::string& note) {
  return fmt::format("\n{}", heading(style, title, note));
}

}  // namespace heed::cli
