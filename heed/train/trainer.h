// The training loop. One step is: next batch, loss, backward, clip, update, log; now and then validate
// and save. Its state is a step, a place in the data and the numbers of the model, so that a run that was stopped at any
// instant goes on to the same bits.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/train/checkpoint.h"
#include "heed/train/config.h"
#include "heed/train/learner.h"
#include "heed/train/metrics_log.h"
#include "heed/train/observer.h"
#include "heed/train/optimizer.h"
#include "heed/train/schedule.h"
#include "heed/train/tensorboard.h"

namespace heed::train {

struct RunFolder {
  std::string model;  // the model directory
  std::string training() const { return model + "/training"; }
};

enum class Ended { kLimit, kPatience, kAsked };

class Trainer {
 public:
  Trainer(const TrainConfig& config, std::unique_ptr<Learner> learner, const RunFolder& folder, Observer& observer);

  // From the newest whole checkpoint of the folder; those that are damaged are named. False where there is none at all.
  bool resume();
  void resume_from(const std::string& checkpoint);
  // Until a limit, patience, or should_stop() between two steps.
  Ended run(const std::function<bool()>& should_stop);
  // One update.
  void step();
  void save(CheckpointKind kind);
  // The model that the run ends with, into the model directory.
  void finish();

  void write_checkpoint_to(const std::string& path) const;
  // Tokens of source and target a second, by a few steps that change nothing. The largest batch of the epoch is among
  // them, so that what the pool has held by then is what a step needs at most, about.
  double measure_speed();
  int64_t steps_of_an_epoch();
  int64_t tokens_of_an_epoch();  // that are read or predicted

  const RunState& state() const { return state_; }
  const Learner& learner() const { return *learner_; }
  RunArrays arrays() const;

 private:
  struct StepLoss {
    double loss = 0, nll = 0;
    int64_t rows = 0, tokens = 0;
    int64_t bad_batch = 0;  // of the epoch, the first whose loss is no number
  };
  // Batches [first, last) of an epoch: those of a step.
  struct StepBatches {
    int64_t epoch, first, last;
  };
  StepLoss forward_backward(const StepBatches& batches);
  StepBatches next_batches();
  void update_average();
  void report(const StepLoss& loss, double learning_rate, double norm, double seconds);
  void refuse_bad_loss(const StepLoss& loss, double norm, const StepBatches& batches);
  // One that is not due, at a limit, may find the best model, but patience does not count it.
  enum class Why { kDue, kLimit };
  void validate(Why why);
  void keep_best(ValidationReport& report, Why why);
  void remove_old_checkpoints();
  bool astray() const { return state_.bad_steps > 0; }
  bool limit_reached() const;
  bool out_of_patience() const;
  bool due(int64_t every) const;
  bool unsaved_for_long() const;
  int64_t largest_batch();  // of the epoch, in tokens
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  double seconds_left() const;
  // What has passed since the last call is time of the run: of steps, validations and saves.
  void count_time();
  // Calls body while the model holds other weights than its own.
  void with_weights(const float* weights, const std::function<void()>& body);
  void with_published_weights(const std::function<void()>& body);  // the average where one is kept
  void publish();                                                  // what the model holds now, into the model directory

  const TrainConfig config_;
  const std::unique_ptr<Learner> learner_;
  const RunFolder folder_;
  Observer& observer_;
  Optimizer optimizer_;
  Schedule schedule_;
  Buffer average_;
  RunState state_;
  StepBatches last_{0, 0, 0};  // of the step just done
  bool epoch_ended_ = false;   // with the step just done
  int64_t saved_step_ = 0;     // of the newest checkpoint
  double lately_seconds_ = 0;
  int64_t lately_tokens_ = 0;
  double counted_until_ = now();
  double validation_seconds_of_a_step_ = 0;  // of the last one, shared among the steps before it; 0: none so far
  MetricsLog log_;
  std::optional<EventLog> events_;  // while it runs, by choice
};

}  // namespace heed::train
