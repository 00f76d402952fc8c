// The log of a run in its model directory: metrics.jsonl, one JSON object a line, and curves.svg drawn from it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "heed/train/observer.h"

namespace heed::train {

class MetricsLog {
 public:
  explicit MetricsLog(std::string folder) : folder_(std::move(folder)) {}
  // Lines behind `bytes` belong to steps that are run again: they are cut off.
  void open_at(int64_t bytes);
  void add(const StepReport& step);
  void add(const ValidationReport& validation);
  int64_t bytes() const { return bytes_; }
  void draw_curves() const;

 private:
  void add_line(const std::string& line);
  std::string path() const { return folder_ + "/metrics.jsonl"; }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string folder_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t bytes_ = 0;
};

}  // namespace heed::train
