#include "heed/train/preparation.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/models/lora.h"
#include "heed/text/tokenizer.h"
#include "heed/train/checkpoint.h"
#include "heed/train/memory_plan.h"
#include "heed/train/task.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string fingerprint_of(const TrainConfig& config, const Preparation& preparation) {
  return data_fingerprint(config, [&](double share) { preparation.at("checking the data", share); });
}

// In the staging folder: what is in the model directory stays as it is.
void stage_data(const TrainConfig& config, Task& task, const Preparation& preparation) {
  const std::string staging = staging_of(config.save.out);
  fs::remove_all(staging);
  fs::create_directories(staging);
  task.stage(config, preparation);
  preparation.go_on();  // what follows is short, and ends in a run that can be resumed
}

// A shape that is none, seen before the data is read; "auto" has the heads of tiny or more.
void check_early(TrainConfig config) {
  resolve_config(config, 0);
  check_resolved(config);
}

// A run from the beginning: whatever can be wrong with its config and data is found before the folder is cleared.
void begin(TrainConfig& config, const RunPaths& paths, bool keeps_data, Task& task, const Preparation& preparation) {
  check_early(config);
  std::string fingerprint = fingerprint_of(config, preparation);
  const std::string said = resolve_config(config, task.survey(config, preparation));
  if (!said.empty()) preparation.observer.on_message(said);
  check_resolved(config);
  check_memory(config);
  stage_data(config, task, preparation);
  if (keeps_data) stage_kept_data(config);
  clear_model(config);
  if (keeps_data) take_kept_data(config), fingerprint = data_fingerprint(config);
  store_config(config);
  take_staged(paths.model);
  write_file_atomically(prepared_mark(paths.model), fingerprint);
}

// What "auto" and a limit that was not given became once stays.
void keep_choices(const TrainConfig& before, TrainConfig& config) {
  if (config.model.preset == "auto") config.model.preset = before.model.preset;
  if (config.train.precision == "auto") config.train.precision = before.train.precision;
  std::string& checkpointing = config.train.activation_checkpointing;
  if (checkpointing == "auto") checkpointing = before.train.activation_checkpointing;
  if (config.train.schedule.empty()) config.train.schedule = before.train.schedule;
  if (config.train.warmup < 0) config.train.warmup = before.train.warmup;
  if (config.train.weight_decay == -1) config.train.weight_decay = before.train.weight_decay;
  if (config.valid.every == 0) config.valid.every = before.valid.every;
  TrainConfig::Run& t = config.train;
  if (t.max_steps != 0 || t.max_epochs != 0 || t.max_minutes != 0) return;
  t.max_steps = before.train.max_steps, t.max_epochs = before.train.max_epochs,
  t.max_minutes = before.train.max_minutes;
  if (config.valid.patience == 0) config.valid.patience = before.valid.patience;
}

// A model that is done is not trained again from the first step, unless someone says so. One that has no mark of its
// preparation is someone's whose folder "training" is gone.
void refuse_finished(const RunPaths& paths) {
  if (!checkpoints_in(paths.in_training("")).empty()) return;
  const bool model = fs::exists(paths.in_model("model.safetensors")) || models::is_adapter(paths.model);
  if (fs::exists(finished_mark(paths.model)) || (model && !fs::exists(prepared_mark(paths.model)))) {
    fail("[train] '{}' holds a model and nothing to go on from: --overwrite without --resume replaces it", paths.model);
  }
}

// A run that was saved: its config and data must be those of now. One that was killed while it began is prepared again.
void go_on(TrainConfig& config, const RunPaths& paths, Task& task, const Preparation& preparation) {
  TrainConfig before;
  read_config_file(before, paths.in_model("train.toml"));
  check_same_task(before, config);
  keep_choices(before, config);
  resolve_config(config, 0);
  check_same_run(before, config);
  check_resolved(config);
  const std::string mark = prepared_mark(paths.model), fingerprint = fingerprint_of(config, preparation);
  refuse_finished(paths);
  clear_temporaries(paths.model);
  if (!fs::exists(mark)) {
    stage_data(config, task, preparation);
    take_staged(paths.model);
    write_file_atomically(mark, fingerprint);
  } else if (const std::string was = content_of(mark); was != fingerprint) {
    fail_file("[train] the data changed since the run was saved: {}", changed_files(was, fingerprint));
  }
  store_config(config);
}

}  // namespace

void store_config(const TrainConfig& config) {
  write_file_atomically(RunPaths{config.save.out}.in_model("train.toml"), config_text(with_absolute_paths(config)));
}

std::unique_ptr<Task> make_task(const TrainConfig& config) {
  if (config.task == "pixels") return make_pixel_task();
  return config.task == "lm" ? make_lm_task() : make_translator_task();
}

void stage_tokenizer_files(const std::string& from, const std::string& staging) {
  for (const text::TokenizerFile& file : text::tokenizer_files()) {
    const fs::path path = fs::path(from) / file.name;
    if (fs::exists(path)) fs::copy_file(path, fs::path(staging) / file.name);
  }
}

void tell_store(const std::string& left_out, int64_t unknown, int64_t tokens, Observer& observer) {
  if (!left_out.empty()) observer.on_message(left_out + ": left out");
  if (unknown > 0) {
    observer.on_message(fmt::format("{:.2g} % of the tokens are unknown",
                                    100 * static_cast<double>(unknown) / static_cast<double>(tokens)));
  }
}

void prepare(TrainConfig& config, Begin how, Task& task, const Preparation& preparation) {
  const RunPaths paths{config.save.out};
  if (how == Begin::kGoOn) return go_on(config, paths, task, preparation);
  begin(config, paths, how == Begin::kFreshWithItsData, task, preparation);
}

}  // namespace heed::train
