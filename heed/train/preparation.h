// What comes before the first step: the config resolved by the data, tokenizers, the tokenised store.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "heed/train/config.h"
#include "heed/train/observer.h"

namespace heed::train {

// Ends a preparation that was asked to stop.
struct StopAsked {};

// Where it tells how far it is, and learns that it should stop.
struct Preparation {
  Observer& observer;
  const std::function<bool()>& should_stop;

  void go_on() const {
    if (should_stop()) throw StopAsked{};
  }
  void at(const char* stage, double share) const {
    go_on();
    observer.on_progress(stage, share);
  }
};

struct RunPaths {
  std::string model;
  std::string in_model(const char* name) const { return (std::filesystem::path(model) / name).string(); }
  std::string in_training(const char* name) const {
    return (std::filesystem::path(model) / "training" / name).string();
  }
};

// MODEL/train.toml, by which the run goes on.
void store_config(const TrainConfig& config);

// Fills the config and the model directory; the folder is locked by the caller.
class Task;
enum class Begin { kGoOn, kFresh, kFreshWithItsData };  // the last: its files are kept in MODEL
void prepare(TrainConfig& config, Begin how, Task& task, const Preparation& preparation);

}  // namespace heed::train
