// The curves of a run as a picture.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heed::train {

struct Point {
  double x, y;
};

// Any number of points in bounded memory: those that lie closer than a picture can show are held as their mean.
class CurvePoints {
 public:
  void add(double x, double y);
  std::vector<Point> means() const;

 private:
  struct Sum {
    double x = 0, y = 0;
    int64_t count = 0;
  };
  std::vector<Sum> sums_;
  int64_t together_ = 1;  // points of one sum
};

// Loss (of the labels as they are smoothed), validation loss, what else the task measures, and learning rate over steps.
class Curves {
 public:
  Curves();
  // A line of metrics.jsonl; one that says something else is left out.
  void add(const nlohmann::json& line);
  std::string svg() const;

 private:
  struct Curve {
    const char *key, *label, *color;
    CurvePoints points;
  };
  // Its curves share the axes.
  struct Panel {
    const char* title;
    std::vector<Curve> curves;
  };
  static std::string draw(const Panel& panel, double top);
  std::vector<Panel> panels_;
};

}  // namespace heed::train
