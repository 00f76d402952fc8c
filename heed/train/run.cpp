#include "heed/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/base/memory.h"
#include "heed/io/atomic_file.h"
#include "heed/train/memory_plan.h"
#include "heed/train/preparation.h"
#include "heed/train/task.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

// How long the rest will take, by a few steps that change nothing.
Forecast forecast(Trainer& trainer, const TrainConfig& config, const Task& task) {
  Forecast f;
  f.parameters = trainer.learner().parameters().count();
  f.data = task.description();
  f.tokens_per_second = trainer.measure_speed();
  f.memory_bytes = pool_stats().peak_used;
  const double epoch = static_cast<double>(trainer.tokens_of_an_epoch()) / f.tokens_per_second;
  const TrainConfig::Run& t = config.train;
  const RunState& s = trainer.state();
  const auto steps = static_cast<double>(trainer.steps_of_an_epoch());
  f.seconds = t.max_minutes > 0 ? 60 * t.max_minutes - s.seconds : INFINITY;
  if (t.max_steps > 0) f.seconds = std::min(f.seconds, epoch / steps * static_cast<double>(t.max_steps - s.step));
  if (t.max_epochs > 0) {
    const double of_this = static_cast<double>(s.batch) / (steps * static_cast<double>(t.accumulate));
    f.seconds = std::min(f.seconds, epoch * (static_cast<double>(t.max_epochs - s.epoch) - of_this));
  }
  f.seconds = std::max(0.0, f.seconds);
  return f;
}

// Every number of two runs, and where they are apart from the time it took.
bool same_bits(const Trainer& one, const Trainer& other) {
  const RunArrays a = one.arrays(), b = other.arrays();
  const auto same = [&](const float* x, const float* y) {
    return x == nullptr || std::memcmp(x, y, static_cast<size_t>(a.size) * sizeof(float)) == 0;
  };
  RunState place = one.state();
  place.seconds = other.state().seconds;
  return place == other.state() && same(a.weights, b.weights) && same(a.average, b.average) &&
         std::equal(a.moments.begin(), a.moments.end(), b.moments.begin(), same);
}

// Two runs beside this one, which stays where it is: one goes straight on, the other from a checkpoint of its middle. The
// same bits and the same place in the data, or an error. Small data is crossed to the next epoch.
void verify(const Trainer& trainer, const TrainConfig& config, const Task& task, const RunFolder& folder,
            const Preparation& preparation) {
  struct File {
    std::string path;
    ~File() {
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  };
  const File file{folder.training() + "/verify.safetensors"};
  trainer.write_checkpoint_to(file.path);
  Observer silent;
  Trainer straight(config, task.learner(config), folder, silent), resumed(config, task.learner(config), folder, silent);
  straight.resume_from(file.path);
  const int64_t half = std::clamp<int64_t>(straight.steps_of_an_epoch() / 2 + 1, 5, 25);
  const auto go = [&](Trainer& run) {
    for (int64_t i = 0; i < half; ++i) preparation.go_on(), run.step();
  };
  go(straight);
  straight.write_checkpoint_to(file.path);
  go(straight);
  resumed.resume_from(file.path);
  go(resumed);
  if (!same_bits(straight, resumed)) {
    fail_file("[train] --verify-resume: the resumed run differs from the one that went on, after {} steps", 2 * half);
  }
  const RunState &from = trainer.state(), &to = straight.state();
  const RunArrays arrays = straight.arrays();
  preparation.observer.on_message(
      fmt::format("resume verified: stopped after step {}, resumed, and at step {} all {} numbers are the same bits{}",
                  from.step + half, to.step,
                  arrays.size * static_cast<int64_t>(1 + arrays.moments.size() + (arrays.average != nullptr)),
                  to.epoch > from.epoch ? ", across the end of an epoch" : ""));
}

}  // namespace

RunResult run_training(TrainConfig config, const RunOptions& options, Observer& observer,
                       const std::function<bool()>& should_stop,
                       const std::function<void(const TrainConfig&, const Forecast&)>& started) {
  check_config(config);
  const RunPaths paths{config.save.out};
  const bool goes_on = options.resume && fs::exists(paths.in_model("train.toml"));
  if (!goes_on) {
    check_data_files(config);
    check_fresh(paths.model, options.resume      ? Existing::kStarted
                             : options.overwrite ? Existing::kOverwrite
                                                 : Existing::kNothing);
  }
  const NewFolders made(paths.model);
  const FolderLock lock(paths.in_model("training"));
  const Preparation preparation{observer, should_stop};
  const std::unique_ptr<Task> task = make_task(config);
  try {
    prepare(config,
            goes_on             ? Begin::kGoOn
            : options.keep_data ? Begin::kFreshWithItsData
                                : Begin::kFresh,
            *task, preparation);
  } catch (const StopAsked&) {
    return {.ended = Ended::kAsked, .state = {}, .prepared = false};
  }
  task->open(config);
  const int64_t available = available_memory();  // before the weights are there
  std::unique_ptr<Learner> learner = task->learner(config);
  const int64_t trainers = options.verify_resume ? 3 : 1;
  const std::string plan = plan_memory(config, trainers * learner->parameters().count(), available);
  if (!plan.empty()) observer.on_message(plan);
  store_config(config);  // with that choice
  const RunFolder folder{paths.model};
  Trainer trainer(config, std::move(learner), folder, observer);
  if (goes_on) {
    observer.on_message(trainer.resume() ? fmt::format("resumed after step {}", trainer.state().step)
                                         : "no checkpoint was saved: the run begins again at step 0");
  }
  if (started) started(config, forecast(trainer, config, *task));
  try {
    if (options.verify_resume) verify(trainer, config, *task, folder, preparation);
  } catch (const StopAsked&) {  // the run below saves and ends
  }
  RunResult result;
  result.ended = trainer.run(should_stop);
  result.state = trainer.state();
  if (result.ended != Ended::kAsked) {
    trainer.finish();
    write_file_atomically(finished_mark(paths.model), "");
  }
  return result;
}

}  // namespace heed::train
