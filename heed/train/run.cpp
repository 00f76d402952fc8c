#include "heed/train/run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/train/run_folder.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

struct Paths {
  std::string model;
  std::string in_model(const char* name) const { return (fs::path(model) / name).string(); }
  std::string in_training(const char* name) const { return (fs::path(model) / "training" / name).string(); }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

data::CorpusConfig corpus(const TrainConfig& config, bool valid) {
  const TrainConfig::Data& d = config.data;
  data::CorpusConfig c;
  c.src = valid ? d.valid_src : d.src, c.tgt = valid ? d.valid_tgt : d.tgt, c.tsv = valid ? d.valid_tsv : d.tsv;
  c.bad_lines = d.bad_lines == "refuse" ? data::BadLines::kRefuse : data::BadLines::kSkip;
  return c;
}

bool has_valid(const TrainConfig& config) { return !config.data.valid_src.empty() || !config.data.valid_tsv.empty(); }

// One side of a corpus as a source of lines; each side is read in a pass of its own.
text::LineSource side_of(const TrainConfig& config, bool target, Observer& observer) {
  auto lines = std::make_shared<data::ParallelCorpus>(corpus(config, false));
  auto count = std::make_shared<int64_t>(0);
  return [lines, count, target, &observer](std::string& line) {
    data::SentencePair pair;
    if (!lines->next(pair)) return false;
    line = target ? std::move(pair.target) : std::move(pair.source);
    if (++*count % 10000 == 0) observer.on_progress("reading", lines->progress());
    return true;
  };
}

int64_t pairs_of_data(const TrainConfig& config, bool valid, Observer& observer) {
  data::ParallelCorpus all(corpus(config, valid));
  int64_t pairs = 0;
  data::SentencePair pair;
  while (all.next(pair)) {
    if (++pairs % 10000 == 0) observer.on_progress("reading", all.progress());
  }
  const std::string report = all.report().text();
  if (pairs == 0) fail_file("[train] no sentence pair to {} with: {}", valid ? "validate" : "train", report);
  observer.on_message(valid ? "to validate with: " + report : report);
  return pairs;
}

void build_staged_store(const TrainConfig& config, bool valid, const text::TokenizerPair& tokenizers,
                        Observer& observer) {
  const bool refuse = config.data.bad_lines == "refuse";
  const data::StoreConfig limits{config.data.max_length, refuse ? data::BadLines::kRefuse : data::BadLines::kSkip};
  const std::string path = staging_of(config.save.out) + (valid ? "/valid.pairs" : "/train.pairs");
  data::ParallelCorpus lines(corpus(config, valid));
  const data::StoreReport report = data::build_store(path, lines, tokenizers, limits,
                                                     [&](double share) { observer.on_progress("tokenizing", share); });
  const std::string too_long =
      fmt::format("{} pairs are longer than {} tokens", report.too_long.count, limits.max_length);
  if (data::PairStore::open(path).size() == 0) {
    fail_file("[train] no sentence pair is left to {} with: {}", valid ? "validate" : "train", too_long);
  }
  if (report.too_long.count > 0) observer.on_message(too_long + ": left out");
}

// Tokenizers and stores, in the staging folder. What is in the model directory stays as it is.
void stage_data(const TrainConfig& config, Observer& observer) {
  const std::string staging = staging_of(config.save.out);
  fs::remove_all(staging);
  fs::create_directories(staging);
  observer.on_message(fmt::format("training the {} tokenizer", config.text.tokenizer));
  const text::TrainedTokenizers trained = text::train_tokenizers(
      tokenizer_config(config), side_of(config, false, observer), side_of(config, true, observer));
  for (const auto& [name, content] : trained.files) write_file_atomically(staging + "/" + name, content);
  build_staged_store(config, false, trained.pair, observer);
  if (has_valid(config)) build_staged_store(config, true, trained.pair, observer);
}

// A run from the beginning: whatever can be wrong with its config and data is found before the folder is cleared.
void begin(TrainConfig& config, const Paths& paths, Observer& observer) {
  const std::string fingerprint = data_fingerprint(config);
  const std::string said = resolve_config(config, pairs_of_data(config, false, observer));
  if (has_valid(config)) pairs_of_data(config, true, observer);
  if (!said.empty()) observer.on_message(said);
  model_config(config, 8, 8);
  stage_data(config, observer);
  clear_model(paths.model);
  write_file_atomically(paths.in_model("train.toml"), config_text(config));
  take_staged(paths.model);
  write_file_atomically(paths.in_training("prepared"), fingerprint);
}

// A run that was saved: its config and data must be those of now. One that was killed while it began is prepared again.
void go_on(TrainConfig& config, const Paths& paths, Observer& observer) {
  TrainConfig before;
  read_config_file(before, paths.in_model("train.toml"));
  // The choices that "auto" made once stay.
  if (config.model.preset == "auto") config.model.preset = before.model.preset;
  if (config.train.precision == "auto") config.train.precision = before.train.precision;
  resolve_config(config, 0);
  check_same_run(before, config);
  const std::string mark = paths.in_training("prepared"), fingerprint = data_fingerprint(config);
  if (!fs::exists(mark)) {
    stage_data(config, observer);
    take_staged(paths.model);
    write_file_atomically(mark, fingerprint);
  } else if (const std::string was = content_of(mark); was != fingerprint) {
    fail("[train] the data changed since the run was saved: {}", changed_files(was, fingerprint));
  }
  write_file_atomically(paths.in_model("train.toml"), config_text(config));
}

// The first sentences of the validation files as text.
void read_valid_text(const TrainConfig& config, RunData& data) {
  data::ParallelCorpus lines(corpus(config, true));
  data::SentencePair pair;
  while (static_cast<int64_t>(data.valid_source.size()) < config.valid.max_sentences && lines.next(pair)) {
    data.valid_source.push_back(std::move(pair.source));
    data.valid_target.push_back(std::move(pair.target));
  }
}

RunData open_data(const TrainConfig& config, const Paths& paths) {
  RunData data;
  data.tokenizers = text::load_tokenizers(paths.model);
  data.train = data::PairStore::open(paths.in_training("train.pairs"));
  data.identity = fmt::format("{:016x}", data.train.fingerprint());
  if (has_valid(config)) {
    data.valid = data::PairStore::open(paths.in_training("valid.pairs"));
    read_valid_text(config, data);
  }
  return data;
}

// How long all will take, by the steps so far or by a few that change nothing.
Forecast forecast(Trainer& trainer, const TrainConfig& config, const RunData& data) {
  Forecast f;
  f.parameters = trainer.model().parameters.count();
  f.pairs = data.train.size();
  f.source_tokens = data.train.source_tokens(), f.target_tokens = data.train.target_tokens();
  const RunState& s = trainer.state();
  f.tokens_per_second = s.seconds > 0 ? static_cast<double>(s.tokens) / s.seconds : trainer.measure_speed();
  f.memory_bytes = pool_stats().peak_used;
  const double epoch = static_cast<double>(f.source_tokens + f.target_tokens) / f.tokens_per_second;
  const TrainConfig::Run& t = config.train;
  const double a_step = epoch / static_cast<double>(trainer.steps_of_an_epoch());
  f.seconds = t.max_minutes > 0 ? 60 * t.max_minutes : INFINITY;
  if (t.max_steps > 0) f.seconds = std::min(f.seconds, a_step * static_cast<double>(t.max_steps));
  if (t.max_epochs > 0) f.seconds = std::min(f.seconds, epoch * static_cast<double>(t.max_epochs));
  return f;
}

// Every number of a run, to compare.
std::vector<float> numbers_of(const Trainer& trainer) {
  const RunArrays arrays = trainer.arrays();
  std::vector<float> all(arrays.weights, arrays.weights + arrays.size);
  for (const float* moment : arrays.moments) all.insert(all.end(), moment, moment + arrays.size);
  if (arrays.average) all.insert(all.end(), arrays.average, arrays.average + arrays.size);
  return all;
}

// Two runs beside this one, which stays where it is: one goes straight on, the other from a checkpoint of its middle. The
// same bits, or an error.
void verify(const Trainer& trainer, const TrainConfig& config, const RunData& data, const RunFolder& folder,
            Observer& observer) {
  constexpr int kSteps = 5;
  const std::string path = folder.training() + "/verify.safetensors";
  Observer silent;
  const auto numbers_from = [&](bool save_in_the_middle) {
    Trainer run(config, data, folder, silent);
    run.resume_from(path);
    if (save_in_the_middle) {
      for (int i = 0; i < kSteps; ++i) run.step();
      run.write_checkpoint_to(path);
    }
    for (int i = 0; i < kSteps; ++i) run.step();
    return numbers_of(run);
  };
  trainer.write_checkpoint_to(path);
  const std::vector<float> straight = numbers_from(true), resumed = numbers_from(false);
  fs::remove(path);
  if (std::memcmp(straight.data(), resumed.data(), straight.size() * sizeof(float)) != 0) {
    fail("[train] --verify-resume: the resumed run differs from the one that went on, after {} steps", 2 * kSteps);
  }
  const int64_t step = trainer.state().step;
  observer.on_message(
      fmt::format("resume verified: stopped after step {}, resumed, and at step {} all {} numbers are the same bits",
                  step + kSteps, step + 2 * kSteps, straight.size()));
}

}  // namespace

RunResult run_training(TrainConfig config, const RunOptions& options, Observer& observer,
                       const std::function<bool()>& should_stop,
                       const std::function<void(const TrainConfig&, const Forecast&)>& started) {
  check_config(config);
  const Paths paths{config.save.out};
  const bool goes_on = options.resume && fs::exists(paths.in_model("train.toml"));
  if (!goes_on) {
    data_fingerprint(config);  // every file is there, before anything is written
    check_fresh(paths.model, options.resume      ? Existing::kStarted
                             : options.overwrite ? Existing::kOverwrite
                                                 : Existing::kNothing);
  }
  NewFolders made(paths.model);
  const FolderLock lock(paths.in_model("training"));
  goes_on ? go_on(config, paths, observer) : begin(config, paths, observer);
  made.keep();
  const RunData data = open_data(config, paths);
  const RunFolder folder{paths.model};
  Trainer trainer(config, data, folder, observer);
  if (options.resume && trainer.resume())
    observer.on_message(fmt::format("resumed after step {}", trainer.state().step));
  if (started) started(config, forecast(trainer, config, data));
  if (options.verify_resume) verify(trainer, config, data, folder, observer);
  RunResult result;
  result.ended = trainer.run(should_stop);
  result.state = trainer.state();
  if (result.ended != Ended::kAsked) trainer.finish();
  return result;
}

}  // namespace heed::train
