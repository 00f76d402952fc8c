// A whole run from its config: reads the files, trains tokenizers, builds the store, trains, leaves a model directory.
//
//   MODEL/             config.json, model.safetensors, tokenizer files: the best model so far
//   MODEL/train.toml   the complete config, which starts the same run again
//   MODEL/metrics.jsonl, curves.svg
//   MODEL/training/    checkpoints, the tokenised data, TensorBoard's event files; not needed to run the model
#pragma once

#include <functional>
#include <string>

#include "heed/train/config.h"
#include "heed/train/observer.h"
#include "heed/train/trainer.h"

namespace heed::train {

struct RunOptions {
  bool resume = false;         // go on from the newest checkpoint; from the beginning where there is none
  bool overwrite = false;      // an existing MODEL may be replaced
  bool verify_resume = false;  // stop in the middle, resume, compare every bit, say so; then go on
  bool keep_data = false;      // a new MODEL holds the files of its data from the start: where they are now they go
};

// Known before the first step.
struct Forecast {
  int64_t parameters = 0;
  std::string data;  // how much of it: "29,000 pairs, ..."
  double tokens_per_second = 0;
  int64_t memory_bytes = 0;  // about, of the epoch's largest batch
  double seconds = 0;        // that are left, but for validations; infinite where no limit is set
};

struct RunResult {
  Ended ended = Ended::kLimit;
  RunState state;
  bool prepared = true;  // false: asked to stop before it was; what was there before is there still, nothing new
};

// `started` is called once all is ready to train. should_stop() is asked while the data is prepared, too.
RunResult run_training(TrainConfig config, const RunOptions& options, Observer& observer,
                       const std::function<bool()>& should_stop,
                       const std::function<void(const TrainConfig&, const Forecast&)>& started = {});

}  // namespace heed::train
