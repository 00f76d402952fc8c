// Event files that TensorBoard reads: the scalars of a run, readable while it goes on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heed/train/observer.h"

namespace heed::train {

// The file is a row of records, each a message (protobuf "Event") between its length and checksums.
uint32_t crc32c(std::string_view bytes);
std::string tfrecord(std::string_view message);

struct Scalar {
  std::string_view tag;
  double value;
};
// The messages; times are seconds since 1970.
std::string version_event(double time);              // begins every file
std::string start_event(double time, int64_t step);  // what earlier files say of this step and later is void
std::string scalars_event(double time, int64_t step, std::span<const Scalar> scalars);

class EventLog {
 public:
  explicit EventLog(std::string folder) : folder_(std::move(folder)) {}
  // A file of its own for every start of a run; `step` is the first that it will tell of.
  void start(int64_t step);
  void add(const StepReport& report);
  void add(const ValidationReport& report);

 private:
  void write(const std::string& message);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string folder_, path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace heed::train
