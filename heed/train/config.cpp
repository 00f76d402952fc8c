#include "heed/train/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "heed/base/cpus.h"
#include "heed/base/error.h"
#include "heed/kernels/gemm.h"
#include "heed/train/task_config.h"

namespace heed::train {
namespace {

constexpr int64_t kNarrowestBf16 = 128;  // docs/results.md measures it

const std::vector<const TaskConfig*>& tasks() {
  static const std::vector<const TaskConfig*> all = {&translator_task_config(), &lm_task_config(),
                                                     &pixel_task_config()};
  return all;
}

const TaskConfig& task_of(const TrainConfig& config) {
  for (const TaskConfig* task : tasks()) {
    if (task->name == config.task) return *task;
  }
  fail("[config] task is '{}': expected {}", config.task, fmt::join(task_names(), " or "));
}

std::vector<ConfigField> train_fields(TrainConfig::Run& t, const std::string& task) {
  std::vector<std::string> schedules = schedule_kinds();
  if (task != "translate") schedules.insert(schedules.begin(), "");  // what suits its limit
  std::vector<ConfigField> fields = {
      {"train.max_steps", &t.max_steps, "stop after so many; 0: no limit of steps"},
      {"train.max_epochs", &t.max_epochs, "rounds over the data; 0: no limit; without any of the three: by the data"},
      {"train.max_minutes",
       &t.max_minutes,
       "with validations and saves, all resumes together; 0: no limit of time",
       {},
       0,
       1e7},
      {"train.batch_tokens", &t.batch_tokens, "of a step's batch at most; of pairs, the larger side", {}, 0, 1 << 24},
      {"train.accumulate", &t.accumulate, "batches that make a step", {}, 1, 4096},
      {"train.optimizer", &t.optimizer, "adam, adamw or sgd", {"adam", "adamw", "sgd"}},
      {"train.beta1", &t.beta1, "of Adam; the momentum of SGD", {}, 0, 0.99999},
      {"train.beta2", &t.beta2, "of Adam", {}, 0, 0.9999999},
      {"train.eps", &t.eps, "of Adam", {}, 1e-30, 1},
      {"train.weight_decay",
       &t.weight_decay,
       task == "translate" ? "of AdamW and SGD; -1: 0.01 of AdamW" : "of AdamW and SGD; -1: 0.1 of AdamW",
       {},
       -1,
       10},
      {"train.clip", &t.clip, "gradients to this norm; 0: not", {}, 0, 1e9},
      {"train.smoothing", &t.smoothing, "of the labels", {}, 0, 0.999},
      {"train.schedule", &t.schedule, "of the learning rate", schedules},
      {"train.learning_rate", &t.learning_rate, "when the warm-up ends; 0: the preset's", {}, 0, 1000},
      {"train.minimum_rate", &t.minimum_rate, "where the schedule ends", {}, 0, 1000},
      {"train.warmup", &t.warmup, "steps; 0: none; -1: the preset's, fewer in a short run", {}, -1},
      {"train.precision", &t.precision, "of the products: f32, bf16 or auto", {"auto", "f32", "bf16"}},
      {"train.activation_checkpointing",
       &t.activation_checkpointing,
       "less memory, slower, the same bits; auto: where memory is short",
       {"auto", "on", "off"}},
      {"train.average_decay", &t.average_decay, "of a moving average of the weights; 0: none", {}, 0, 0.9999999},
      {"train.average_last",
       &t.average_last,
       "the model is the mean of the last so many checkpoints; 0: the best",
       {},
       0,
       1000},
      {"train.bad_loss", &t.bad_loss, "when a loss is no number: skip the step or stop", {"skip", "stop"}},
      {"train.seed", &t.seed, "of everything random"},
  };
  if (task == "translate") {
    const auto smoothing = std::find_if(fields.begin(), fields.end(), [](const ConfigField& f) {
      return std::string_view(f.key) == "train.smoothing";
    });
    const char* help = "of two dropouts of a sentence, which is read twice: its weight (R-Drop); 0: it is read once";
    fields.insert(smoothing + 1, {"train.agreement", &t.agreement, help, {}, 0, 1000});
  }
  return fields;
}

std::vector<ConfigField> save_fields(TrainConfig::Save& s) {
  return {
      {"save.out", &s.out, "MODEL, the directory to write"},
      {"save.save_every", &s.every, "steps between checkpoints; 0: with every validation, and after 1000 steps"},
      {"save.keep", &s.keep, "checkpoints kept", {}, 1, 100000},
      {"save.tensorboard", &s.tensorboard, "also write TensorBoard event files"},
  };
}

}  // namespace

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const TaskConfig* task : tasks()) all.emplace_back(task->name);
    return all;
  }();
  return names;
}

TrainConfig default_config(const std::string& task) {
  TrainConfig config;
  config.task = task;
  return task_of(config).defaults();
}

std::string ConfigField::flag() const {
  std::string name = key;
  const size_t dot = name.find('.');
  name = name.starts_with("valid.") ? "valid_" + name.substr(dot + 1) : name.substr(dot + 1);
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string value_text(const ConfigField& field) {
  return std::visit(
      [](const auto* value) {
        if constexpr (std::is_same_v<decltype(value), const std::vector<std::string>*>) {
          return fmt::format("[{}]", fmt::join(*value, ", "));
        } else if constexpr (std::is_same_v<decltype(value), const std::optional<bool>*>) {
          return std::string(!*value ? "" : **value ? "true" : "false");
        } else {
          return fmt::format("{}", *value);
        }
      },
      field.value);
}

std::vector<ConfigField> config_fields(TrainConfig& c) {
  const TaskConfig& task = task_of(c);
  std::vector<ConfigField> all = {{"task", &c.task, "what is trained", task_names()}};
  for (const auto& table : {task.fields(c), train_fields(c.train, c.task), task.valid_fields(c), save_fields(c.save)}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

std::string tasks_with(const std::string& key) {
  std::vector<std::string> found;
  for (const TaskConfig* task : tasks()) {
    TrainConfig config = task->defaults();
    for (const ConfigField& field : config_fields(config)) {
      const std::string known = field.key;
      if (known == key || known.substr(known.find('.') + 1) == key) found.emplace_back(task->name);
    }
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

models::ModelConfig model_config(const TrainConfig& config, int64_t source_vocabulary, int64_t vocabulary) {
  return task_of(config).model(config, source_vocabulary, vocabulary);
}

OptimizerConfig optimizer_config(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  OptimizerConfig o;
  o.kind = t.optimizer == "sgd"     ? OptimizerKind::kSgd
           : t.optimizer == "adamw" ? OptimizerKind::kAdamW
                                    : OptimizerKind::kAdam;
  o.beta1 = static_cast<float>(t.beta1), o.beta2 = static_cast<float>(t.beta2), o.eps = static_cast<float>(t.eps);
  o.momentum = static_cast<float>(t.beta1);
  o.weight_decay = static_cast<float>(t.weight_decay);
  o.clip_norm = static_cast<float>(t.clip);
  return o;
}

Schedule schedule_of(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  return {schedule_kind(t.schedule), t.learning_rate, config.model.d_model, t.warmup, t.max_steps, t.minimum_rate};
}

void check_resolved(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  model_config(config, 8, 8);
  if (t.weight_decay < 0) fail("[config] train.weight_decay is {}: expected 0 to 10, or -1", t.weight_decay);
  check_optimizer(optimizer_config(config));
  if (needs_total_steps(schedule_kind(t.schedule))) {
    if (t.max_steps == 0)
      fail("[config] train.schedule '{}' ends at train.max_steps, which is 0: expected a number of steps", t.schedule);
    if (t.warmup >= t.max_steps) {
      fail("[config] train.warmup is {} and train.max_steps {}: train.schedule '{}' expects fewer steps of warm-up",
           t.warmup, t.max_steps, t.schedule);
    }
  }
  learning_rate(schedule_of(config), 1);
}

bool validates(const TrainConfig& config) { return task_of(config).validates(config.data); }

Machine this_machine() { return {available_cpus(), kernels::has_native_bf16()}; }

std::string resolve_config(TrainConfig& c, int64_t amount, const Machine& machine) {
  std::string said = task_of(c).resolve(c, amount, machine);
  if (c.train.precision == "auto") {
    const bool wide = c.model.d_model >= kNarrowestBf16;
    c.train.precision = machine.native_bf16 && wide ? "bf16" : "f32";
    said += fmt::format("{}precision {}: {}", said.empty() ? "" : "; ", c.train.precision,
                        !machine.native_bf16 ? "this CPU has no bf16 products"
                        : wide               ? "this CPU multiplies bf16 natively"
                                             : fmt::format("d_model is below {}", kNarrowestBf16));
  }
  if (c.train.average_last > 0) c.save.keep = std::max(c.save.keep, c.train.average_last);
  return said;
}

void check_task(const TrainConfig& config) {
  task_of(config).check(config);
  if (config.valid.patience > 0 && !validates(config))
    fail("[config] valid.patience is {} and there is no data to validate with: expected 0", config.valid.patience);
}

void check_from(const TrainConfig& config, const SaidKeys& own) {
  const std::string& from = config.model.from;
  if (from.empty()) return;
  std::error_code ignored;
  if (std::filesystem::equivalent(from, config.save.out, ignored))
    fail("[config] model.from and save.out are both '{}': expected another folder to write", config.save.out);
  for (const auto& [key, said] : own) {
    if (said) fail("[config] {} is said, and '{}' of model.from has its own", key, from);
  }
}

void fill_weight_decay(TrainConfig::Run& t, double of_adamw) {
  if (t.weight_decay == -1) t.weight_decay = t.optimizer == "adamw" ? of_adamw : 0;
}

void take_sizes(const std::string& from, const std::vector<SizeOfModel>& sizes) {
  for (const auto& [key, said, has] : sizes) {
    fill(*said, has);
    if (*said != has) fail("[config] model.{} is {}, and '{}' of model.from has {}", key, *said, from, has);
  }
}

std::string usual_patience(TrainConfig& config) {
  constexpr int64_t kValidations = 10;
  if (!validates(config)) return "";
  fill(config.valid.patience, kValidations);
  return fmt::format(", or {} validations without a better one", config.valid.patience);
}

}  // namespace heed::train
