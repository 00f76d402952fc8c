// Numbers as text on a terminal or in a file: aligned matrices, shaded heat maps, curves and tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/cli/palette.h"
#include "heed/cli/terminal.h"

namespace heed::cli {

// A matrix with names for its rows and columns; without names they are counted from 0.
struct Grid {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;  // (rows, columns)
  std::vector<std::string> row_names, column_names;

  double at(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * columns + c)]; }
  std::string row_name(int64_t r) const;
  std::string column_name(int64_t c) const;
};
// name0, name1, ...: for rows "q0", "q1", ...
std::vector<std::string> numbered(const std::string& name, int64_t count);

// The numbers from which a heat map takes its colours.
struct Scale {
  Palette palette = Palette::kSequential;
  double low = 0, high = 1;
  double at(double value) const { return high > low ? (value - low) / (high - low) : 0; }
};
// From the finite values and 0: symmetric and diverging where there are both signs.
Scale scale_of(const Grid& grid);

// Rows or columns to show when there are more than fit: the first ones, -1 for "...", the last ones.
std::vector<int64_t> shown(int64_t count, int64_t most);

// decimals < 0: as short as the numbers allow.
std::string matrix_text(const Grid& grid, const Style& style, int decimals = 6);
std::string heat_text(const Grid& grid, const Style& style, const Scale& scale);

struct Curve {
  std::vector<double> x, y;
  std::string x_name, y_name;
  int64_t height = 12;
};
std::string curve_text(const Curve& curve, const Style& style);
// A small curve without axes, `height` lines of `width` columns, for values in [low, high].
std::vector<std::string> wave_lines(const std::vector<double>& y, int64_t width, int64_t height, double low,
                                    double high);

struct Table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right;  // align numbers to the right
};
std::string table_text(const Table& table, const Style& style);

std::string heading(const Style& style, const std::string& title, const std::string& note = "");
std::string section(const Style& style, const std::string& title, const std::string& note = "");  // after an empty line

}  // namespace heed::cli
