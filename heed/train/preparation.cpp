#include "heed/train/preparation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/models/parameter_count.h"
#include "heed/train/checkpoint.h"
#include "heed/train/run_folder.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPairsBetween = 10000;  // two reports of how far reading is

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
text::LineSource side_of(const TrainConfig& config, bool target, const Preparation& preparation) {
  auto lines = std::make_shared<data::ParallelCorpus>(corpus(config, false));
  auto count = std::make_shared<int64_t>(0);
  return [lines, count, target, &preparation](std::string& line) {
    data::SentencePair pair;
    if (!lines->next(pair)) return false;
    line = target ? std::move(pair.target) : std::move(pair.source);
    if (++*count % kPairsBetween == 0) preparation.at("reading", lines->progress());
    return true;
  };
}

int64_t pairs_of_data(const TrainConfig& config, bool valid, const Preparation& preparation) {
  data::ParallelCorpus all(corpus(config, valid));
  int64_t pairs = 0;
  data::SentencePair pair;
  while (all.next(pair)) {
    if (++pairs % kPairsBetween == 0) preparation.at("reading", all.progress());
  }
  const std::string report = all.report().text();
  if (pairs == 0) fail_file("[train] no sentence pair to {} with: {}", valid ? "validate" : "train", report);
  if (all.report().not_utf8.count > pairs) fail_file("[train] most of the data is not UTF-8 text: {}", report);
  preparation.observer.on_message(valid ? "to validate with: " + report : report);
  return pairs;
}

// What the tokenizer left out, with places, and what it does not know.
void tell_store(const data::StoreReport& report, const data::PairStore& store, const std::string& left_out,
                Observer& observer) {
  if (!left_out.empty()) observer.on_message(left_out + ": left out");
  if (report.unknown > 0) {
    const auto tokens = static_cast<double>(store.source_tokens() + store.target_tokens());
    observer.on_message(
        fmt::format("{:.2g} % of the tokens are unknown", 100 * static_cast<double>(report.unknown) / tokens));
  }
}

void build_staged_store(const TrainConfig& config, bool valid, const text::TokenizerPair& tokenizers,
                        const Preparation& preparation) {
  const bool refuse = config.data.bad_lines == "refuse";
  const data::StoreConfig limits{config.data.max_length, refuse ? data::BadLines::kRefuse : data::BadLines::kSkip};
  const std::string path = staging_of(config.save.out) + (valid ? "/valid.pairs" : "/train.pairs");
  data::ParallelCorpus lines(corpus(config, valid));
  const data::StoreReport report =
      data::build_store(path, lines, tokenizers, limits, [&](double share) { preparation.at("tokenizing", share); });
  std::string left_out;
  for (const auto& [bad, what] : {std::pair(report.too_long, fmt::format("longer than {} tokens", limits.max_length)),
                                  std::pair(report.no_tokens, std::string("without a token"))}) {
    if (bad.count > 0) left_out += (left_out.empty() ? "" : ", ") + data::describe(bad, what);
  }
  const data::PairStore store = data::PairStore::open(path);
  if (store.size() == 0) {
    fail_file("[train] no sentence pair is left to {} with: {}", valid ? "validate" : "train", left_out);
  }
  tell_store(report, store, left_out, preparation.observer);
}

// Tokenizers and stores, in the staging folder. What is in the model directory stays as it is.
void stage_data(const TrainConfig& config, const Preparation& preparation) {
  const std::string staging = staging_of(config.save.out);
  fs::remove_all(staging);
  fs::create_directories(staging);
  preparation.observer.on_message(fmt::format("training the {} tokenizer", config.text.tokenizer));
  const text::TrainedTokenizers trained = text::train_tokenizers(
      tokenizer_config(config), side_of(config, false, preparation), side_of(config, true, preparation));
  for (const auto& [name, content] : trained.files) write_file_atomically(staging + "/" + name, content);
  build_staged_store(config, false, trained.pair, preparation);
  if (has_valid(config)) build_staged_store(config, true, trained.pair, preparation);
  preparation.go_on();  // what follows is short, and ends in a run that can be resumed
}

// A shape that is none, seen before the data is read; "auto" has the heads of tiny or more.
void check_early(TrainConfig config) {
  resolve_config(config, 0);
  check_resolved(config);
}

// Weights, gradients and two moments; what a step needs beside them is known only later.
void check_memory(const TrainConfig& config) {
  constexpr int64_t kFewest = 1000;
  const int64_t vocabulary = std::max(kFewest, config.text.vocabulary);
  const double needed =
      16e-9 * static_cast<double>(models::parameter_parts(model_config(config, vocabulary, vocabulary)).total());
  const double there =
      1e-9 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > there) {
    fail_file("[train] the weights, their gradients and moments need {:.0f} GB, this machine has {:.0f} GB", needed,
              there);
  }
}

// A run from the beginning: whatever can be wrong with its config and data is found before the folder is cleared.
void begin(TrainConfig& config, const RunPaths& paths, const Preparation& preparation) {
  check_early(config);
  const std::string fingerprint = data_fingerprint(config);
  const std::string said = resolve_config(config, pairs_of_data(config, false, preparation));
  if (has_valid(config)) pairs_of_data(config, true, preparation);
  if (!said.empty()) preparation.observer.on_message(said);
  check_resolved(config);
  check_memory(config);
  stage_data(config, preparation);
  clear_model(paths.model);
  write_file_atomically(paths.in_model("train.toml"), config_text(config));
  take_staged(paths.model);
  write_file_atomically(prepared_mark(paths.model), fingerprint);
}

// What "auto" and a limit that was not given became once stays.
void keep_choices(const TrainConfig& before, TrainConfig& config) {
  if (config.model.preset == "auto") config.model.preset = before.model.preset;
  if (config.train.precision == "auto") config.train.precision = before.train.precision;
  TrainConfig::Run& t = config.train;
  if (t.max_steps != 0 || t.max_epochs != 0 || t.max_minutes != 0) return;
  t.max_steps = before.train.max_steps, t.max_epochs = before.train.max_epochs,
  t.max_minutes = before.train.max_minutes;
  if (config.valid.patience == 0) config.valid.patience = before.valid.patience;
}

// A run that was saved: its config and data must be those of now. One that was killed while it began is prepared again.
void go_on(TrainConfig& config, const RunPaths& paths, const Preparation& preparation) {
  TrainConfig before;
  read_config_file(before, paths.in_model("train.toml"));
  keep_choices(before, config);
  resolve_config(config, 0);
  check_same_run(before, config);
  check_resolved(config);
  const std::string mark = prepared_mark(paths.model), fingerprint = data_fingerprint(config);
  if (!fs::exists(mark)) {
    if (fs::exists(paths.in_model("model.safetensors")) && checkpoints_in(paths.in_training("")).empty()) {
      fail("[train] '{}' holds a model and nothing to go on from: --overwrite without --resume replaces it",
           paths.model);
    }
    stage_data(config, preparation);
    take_staged(paths.model);
    write_file_atomically(mark, fingerprint);
  } else if (const std::string was = content_of(mark); was != fingerprint) {
    fail_file("[train] the data changed since the run was saved: {}", changed_files(was, fingerprint));
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

// With the ids as they were written: others would be trained on without a word.
data::PairStore open_whole_store(const RunPaths& paths, const char* name) {
  const std::string path = paths.in_training(name);
  data::PairStore store = data::PairStore::open(path);
  if (!store.intact()) {
    fail_file("[store] '{}' is damaged: its ids do not give its fingerprint; without '{}', --resume makes it again",
              path, prepared_mark(paths.model));
  }
  return store;
}

}  // namespace

void prepare(TrainConfig& config, bool goes_on, const Preparation& preparation) {
  const RunPaths paths{config.save.out};
  goes_on ? go_on(config, paths, preparation) : begin(config, paths, preparation);
}

RunData open_data(const TrainConfig& config) {
  const RunPaths paths{config.save.out};
  RunData data;
  data.tokenizers = text::load_tokenizers(paths.model);
  data.train = open_whole_store(paths, "train.pairs");
  data.identity = fmt::format("{:016x}", data.train.fingerprint());
  if (has_valid(config)) {
    data.valid = open_whole_store(paths, "valid.pairs");
    read_valid_text(config, data);
  }
  return data;
}

}  // namespace heed::train
