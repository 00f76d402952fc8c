// heed train: a translator from two text files, a language model from any text or a model that draws from images, by flags
// or by a config file. Every flag is a key of the config.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/interrupts.h"
#include "heed/cli/train_progress.h"
#include "heed/train/run.h"

namespace heed::cli {
namespace {

struct Options {
  std::string task = "translate", config_file;
  std::vector<std::string> set;
  std::map<std::string, std::vector<std::string>> flags;  // as typed, by key
  train::RunOptions run;
};

void add_run_flags(CLI::App* app, Options& o) {
  app->add_option("--set", o.set, "key=value of the config, such as train.max_steps=1000")
      ->type_name("KEY=VALUE")
      ->take_all();
  app->add_flag("--resume", o.run.resume, "go on from the newest checkpoint, to the same bits");
  app->add_flag("--overwrite", o.run.overwrite, "replace an existing MODEL");
  app->add_flag("--verify-resume", o.run.verify_resume, "stop in the middle, resume, compare every bit, then go on");
}

std::string choices_text(const train::ConfigField& field) {
  std::string text;
  for (const std::string& choice : field.choices) {
    if (!choice.empty()) text += (text.empty() ? "" : "|") + choice;
  }
  return text;
}

CLI::Option* add_field(CLI::App* app, const train::ConfigField& field, Options& o) {
  const bool list = std::holds_alternative<std::vector<std::string>*>(field.value);
  const bool flag =
      std::holds_alternative<bool*>(field.value) || std::holds_alternative<std::optional<bool>*>(field.value);
  const std::string value = list ? "" : train::value_text(field);
  CLI::Option* option = app->add_option(field.flag(), o.flags[field.key],
                                        value.empty() ? field.help : fmt::format("{} [{}]", field.help, value));
  option->type_name(list ? "F..." : flag ? "[true|false]" : field.choices.empty() ? "X" : choices_text(field));
  if (flag) option->expected(0, 1)->default_str("true")->option_text("[true|false]");  // true: where no value is given
  if (!list && !flag) option->expected(1);
  return option;
}

void add_config_flags(CLI::App* app, Options& o) {
  train::TrainConfig defaults = train::default_config(o.task);
  for (const train::ConfigField& field : train::config_fields(defaults)) {
    if (field.flag() == "--seed" || field.flag() == "--task") continue;  // everywhere, and nowhere
    add_field(app, field, o);
  }
}

// Beside a config file, which names its task only once it is read, they are those of every task, and not listed: the help
// of the kinds does that. A flag of two tasks is one.
void add_all_config_flags(CLI::App* app, Options& o) {
  for (const std::string& task : train::task_names()) {
    train::TrainConfig defaults = train::default_config(task);
    for (const train::ConfigField& field : train::config_fields(defaults)) {
      if (field.flag() == "--seed" || field.flag() == "--task" || o.flags.count(field.key) > 0) continue;
      add_field(app, field, o)->group("");
    }
  }
}

void refuse_flags_of_others(const Options& o, train::TrainConfig& config) {
  std::map<std::string, bool> known;
  for (const train::ConfigField& field : train::config_fields(config)) known[field.key] = true;
  for (const auto& [key, values] : o.flags) {
    if (values.empty() || known.count(key) > 0) continue;
    fail("[train] {} is a flag of the task '{}', and '{}' is of '{}'", train::ConfigField{key.c_str(), {}, ""}.flag(),
         train::tasks_with(key), o.config_file, config.task);
  }
}

// A model that is gone on from has its own. Said in the words of the default, it would pass the config's check unseen.
void refuse_beside_from(const Options& o, const train::TrainConfig& config) {
  if (config.model.from.empty()) return;
  for (const std::string key : {"model.arch", "model.share_embeddings", "text.tokenizer", "text.joint"}) {
    const auto typed = o.flags.find(key);
    if ((typed != o.flags.end() && !typed->second.empty()) ||
        std::any_of(o.set.begin(), o.set.end(), [&](const std::string& set) { return set.starts_with(key + "="); })) {
      fail("[config] {} is said, and '{}' of model.from has its own", key, config.model.from);
    }
  }
}

// The config that lies in a model goes on there, wherever the folder is by now.
void stay_in_own_folder(const std::filesystem::path& file, train::TrainConfig& config) {
  if (file.filename() == "train.toml" && std::filesystem::exists(file.parent_path() / "training"))
    config.save.out = file.parent_path().string();
}

// A model holds the config of its run.
std::string config_in(const std::string& typed) {
  const std::filesystem::path own = std::filesystem::path(typed) / "train.toml";
  return std::filesystem::exists(own) ? own.string() : typed;
}

// Who only names the model wants what its own config says.
void refuse_resume_without_data(const Options& o, const train::TrainConfig& config) {
  const train::TrainConfig::Data& d = config.data;
  if (!o.run.resume || config.save.out.empty() || config_in(config.save.out) == config.save.out) return;
  for (const auto* files : {&d.src, &d.tgt, &d.tsv, &d.text, &d.chat, &d.images}) {
    if (!files->empty()) return;
  }
  fail("[train] no data is named: heed train {} --resume goes on as the run began", config_in(config.save.out));
}

train::TrainConfig config_of(const Options& o, const Common& common) {
  train::TrainConfig config = train::default_config(o.task);
  if (!o.config_file.empty()) train::read_config_file(config, o.config_file);
  if (o.run.resume) stay_in_own_folder(o.config_file, config);
  refuse_flags_of_others(o, config);
  for (const train::ConfigField& field : train::config_fields(config)) {
    const auto typed = o.flags.find(field.key);
    if (typed == o.flags.end() || typed->second.empty()) continue;
    if (const auto* list = std::get_if<std::vector<std::string>*>(&field.value)) {
      **list = typed->second;
    } else {
      train::set_field(field, typed->second.back(), field.flag());
    }
  }
  if (common.seed_given) config.train.seed = common.seed;
  for (const std::string& assignment : o.set) train::set_config(config, assignment);
  refuse_beside_from(o, config);
  refuse_resume_without_data(o, config);
  return config;
}

// Without a validation there is no best one.
nlohmann::json to_json(const train::RunResult& result, const train::TrainConfig& config) {
  const train::RunState& s = result.state;
  nlohmann::json j{{"steps", s.step},    {"epochs", s.epoch},        {"seconds", s.seconds},
                   {"tokens", s.tokens}, {"best_step", s.best_step}, {"best", nullptr},
                   {"metric", nullptr},  {"model", config.save.out}, {"stopped", result.ended == train::Ended::kAsked}};
  if (s.best_step < 0) return j;
  j["best"] = s.best_by_loss() ? s.best_loss : s.best;
  j["metric"] = s.best_by_loss() ? "loss" : config.valid.metric;
  return j;
}

void run(const Options& o, const Common& common) {
  if (o.run.resume && o.run.overwrite)
    fail("[train] --resume goes on with a model and --overwrite replaces it: expected one of them");
  TrainProgress progress(common);
  catch_interrupts(common.quiet);
  const train::TrainConfig config = config_of(o, common);
  const train::RunResult result = train::run_training(
      config, o.run, progress, interrupted, [&](const train::TrainConfig& resolved, const train::Forecast& forecast) {
        progress.started(resolved, forecast);
      });
  if (!result.prepared) throw Failure("[train] stopped before the training began: nothing was written");
  const train::RunState& s = result.state;
  if (result.ended != train::Ended::kAsked) {
    const bool is_the_best = s.best_step >= 0 && config.train.average_last == 0;  // else a mean, or the last
    const char* why = result.ended == train::Ended::kPatience ? " without a better validation (--valid-patience)" : "";
    progress.on_message(fmt::format("done: {} steps in {}{}{}; the model is in '{}'", s.step, duration_text(s.seconds),
                                    why, is_the_best ? fmt::format(", the best at step {}", s.best_step) : "",
                                    config.save.out));
  }
  if (common.json) print(to_json(result, config).dump() + "\n");
  // Not done: whatever should follow a finished run must not.
  if (result.ended == train::Ended::kAsked) {
    throw Failure(fmt::format("[train] stopped and saved after step {}; --resume goes on", s.step));
  }
}

// Flags of a config file: those that stand before the kind, and those of another kind.
void refuse_early_flags(const CLI::App* app) {
  const CLI::App* kind = app->get_subcommands().front();
  for (const CLI::Option* option : app->get_options()) {
    if (option->count() == 0) continue;
    const std::string name =
        option->get_lnames().empty() ? option->get_name(true) : "--" + option->get_lnames().front();
    if (name.starts_with("--") && kind->get_option_no_throw(name) == nullptr)
      fail("{} '{}' is a flag of another kind of model, not of '{}'", place(app), name, kind->get_name());
    fail("{} '{}' stands before '{}', expected after it", place(app), name, kind->get_name());
  }
}

// A kind that is spelled wrong looks like a config file that is not there.
void refuse_unknown_kind(const CLI::App* app, const std::string& typed) {
  if (typed.find_first_of("./") != std::string::npos || std::filesystem::exists(typed)) return;
  const std::string near = nearest(typed, train::task_names());
  if (!near.empty()) fail("{} unknown kind '{}': did you mean '{}'?", place(app), typed, near);
}

void add_kind(CLI::App* train, const Common& common, const char* task, const char* summary, const char* example) {
  const auto options = std::make_shared<Options>();
  options->task = task;
  CLI::App* app = add_command(*train, task, summary, example);
  add_run_flags(app, *options);
  add_config_flags(app, *options);
  app->callback([train, options, &common] {
    refuse_early_flags(train);
    run(*options, common);
  });
}

}  // namespace

void add_train(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "train", "train a model from your own data",
                              "heed train run.toml --set train.max_steps=1000");
  const auto by_file = std::make_shared<Options>();
  app->add_option("CONFIG", by_file->config_file,
                  "a TOML file; flags as of the kinds below win over it; a model directory holds its own");
  add_run_flags(app, *by_file);
  add_all_config_flags(app, *by_file);
  add_kind(app, common, "translate", "a translator from parallel text",
           "heed train translate --src train.en --tgt train.de --valid-src val.en --valid-tgt val.de --out MODEL");
  add_kind(app, common, "lm", "a language model from text", "heed train lm --text book.txt --out MODEL");
  add_kind(app, common, "pixels", "a model that draws images, from images",
           "heed train pixels --images train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz --size 14 --out "
           "MODEL");
  app->callback([app, by_file, &common] {
    if (!app->get_subcommands().empty()) return;
    if (by_file->config_file.empty())
      fail("{} expected a config file or a kind of model: translate, lm, pixels", place(app));
    refuse_unknown_kind(app, by_file->config_file);
    by_file->config_file = config_in(by_file->config_file);
    run(*by_file, common);
  });
}

}  // namespace heed::cli
