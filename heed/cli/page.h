// A picture laid out from top to bottom: titles, heat maps side by side, line charts, tables.
#pragma once

#include <string>
#include <vector>

#include "heed/cli/render.h"
#include "heed/cli/scene.h"

namespace heed::cli {

struct HeatPanel {
  std::string title;
  Grid grid;
  Scale scale;
  int decimals =
      2;  // of the numbers in the cells, where they fit; -1: none, -2: as short as they allow, -3: two digits of each
  std::string x_name, y_name;
  bool with_key = true;  // what the colours mean, below
};

struct Chart {
  struct Series {
    std::string name;
    std::vector<double> x, y;
  };
  struct Mark {
    double x, y;
    std::string text;
  };
  std::string title;
  std::vector<Series> series;
  std::vector<Mark> marks;
  std::string x_name, y_name;
  double width = 760, height = 300;
};

struct Bars {
  struct Bar {
    std::string name;
    double value;
    std::string text;
  };
  std::string title;
  std::vector<Bar> bars;
};

class Page {
 public:
  explicit Page(const std::string& title);
  void text(const std::string& line);
  void heat(const std::vector<HeatPanel>& panels);  // side by side, on a new row where the page ends
  void chart(const Chart& chart);
  void bars(const Bars& bars);
  void table(const Table& table);
  Scene finish();

 private:
  struct Size {
    double width, height;
  };
  Size draw_heat(Point at, const HeatPanel& panel, double cell);
  void draw_cells(Point at, const HeatPanel& panel, double cell);
  void draw_key(Point at, double width, const Scale& scale);
  void draw_axes(Point at, const Chart& chart, Point low, Point high);
  void subtitle(const std::string& title);
  void took(double width, double height);
  void add(Point at, const std::string& text, double size, Colour colour = kInk,
           Scene::Anchor anchor = Scene::Anchor::kStart);

  Scene scene_;
  double y_;
};

// At most `most` rows and columns, every so many of them, under their own names.
Grid thinned(const Grid& grid, int64_t most);
// Round numbers that cover [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, int count);

}  // namespace heed::cli
