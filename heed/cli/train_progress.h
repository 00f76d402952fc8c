// What a person sees while a model trains: one live line on a terminal, now and then a plain line elsewhere, validations
// as a table.
#pragma once

#include <chrono>

#include "heed/cli/program.h"
#include "heed/train/observer.h"
#include "heed/train/run.h"

namespace heed::cli {

class TrainProgress : public train::Observer {
 public:
  explicit TrainProgress(const Common& common);
  ~TrainProgress() override { end_line(); }

  void on_step(const train::StepReport& r) override;
  void on_validation(const train::ValidationReport& r) override;
  void on_message(const std::string& text) override;
  void on_progress(const std::string& stage, double share) override;
  void started(const train::TrainConfig& config, const train::Forecast& forecast);

 private:
  using Clock = std::chrono::steady_clock;
  bool due(double seconds);
  void live(const std::string& line);
  void plain(const std::string& line);
  void end_line();
  void introduce();

  const Common& common_;
  bool terminal_, line_open_ = false, table_started_ = false, introduced_ = false;
  Clock::time_point last_ = Clock::now(), stage_started_ = last_;
  std::string stage_;
};

std::string duration_text(double seconds);  // "1 h 05 min", "3 min 20 s", "8 s"

}  // namespace heed::cli
