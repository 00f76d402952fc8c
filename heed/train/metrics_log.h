// The log of a run in its model directory: metrics.jsonl, one JSON object a line, and curves.svg drawn from it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "heed/train/curves.h"
#include "heed/train/observer.h"

namespace heed::train {

class MetricsLog {
 public:
  explicit MetricsLog(std::string folder) : folder_(std::move(folder)) {}
  // Lines behind `bytes` belong to steps that are run again: they are cut off. The others are read for the curves, once.
  void open_at(int64_t bytes);
  void add(const StepReport& step);
  void add(const ValidationReport& validation);
  int64_t bytes() const { return bytes_; }
  // As far as the log goes by now.
  void draw_curves();

 private:
  void add_line(const nlohmann::json& line);
  void read_curves();
  std::string path() const { return folder_ + "/metrics.jsonl"; }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string folder_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t bytes_ = 0, drawn_ = 0;  // of the log; of what the picture shows
  Curves curves_;
};

}  // namespace heed::train
