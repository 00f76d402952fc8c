// The data of a translator: pairs of sentences.
#include <fmt/format.h>

#include "heed/io/atomic_file.h"
#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/tasks/translator.h"
#include "heed/train/task.h"
#include "heed/train/translator_learner.h"

namespace heed::train {
namespace {

constexpr int64_t kPairsBetween = 10000;  // two reports of how far reading is

data::CorpusConfig corpus(const TrainConfig& config, bool valid) {
  const TrainConfig::Data& d = config.data;
  data::CorpusConfig c;
  c.src = valid ? d.valid_src : d.src, c.tgt = valid ? d.valid_tgt : d.tgt, c.tsv = valid ? d.valid_tsv : d.tsv;
  c.bad_lines = d.bad_lines == "refuse" ? data::BadLines::kRefuse : data::BadLines::kSkip;
  return c;
}

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

void build_staged_store(const TrainConfig& config, bool valid, const text::TokenizerPair& tokenizers,
                        const Preparation& preparation) {
  const bool refuse = config.data.bad_lines == "refuse";
  data::StoreConfig limits{config.data.max_length, refuse ? data::BadLines::kRefuse : data::BadLines::kSkip};
  if (!valid) {
    limits.variants = config.text.variants, limits.split_dropout = config.text.split_dropout;
    limits.seed = static_cast<uint64_t>(config.train.seed);
  }
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
  tell_store(left_out, report.unknown, store.source_tokens() + store.target_tokens(), preparation.observer);
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

class TranslatorTask final : public Task {
 public:
  int64_t survey(const TrainConfig& config, const Preparation& preparation) override {
    const int64_t pairs = pairs_of_data(config, false, preparation);
    if (validates(config)) pairs_of_data(config, true, preparation);
    return pairs;
  }

  void stage(const TrainConfig& config, const Preparation& preparation) override {
    const text::TokenizerPair tokenizers =
        config.model.from.empty() ? stage_new_tokenizers(config, preparation) : stage_tokenizers_of(config);
    build_staged_store(config, false, tokenizers, preparation);
    if (validates(config)) build_staged_store(config, true, tokenizers, preparation);
  }

  void open(const TrainConfig& config) override {
    const RunPaths paths{config.save.out};
    data_.tokenizers = text::load_tokenizers(paths.model);
    data_.train = open_whole<data::PairStore>(paths, "train.pairs");
    data_.identity = fmt::format("{:016x}", data_.train.fingerprint());
    if (!validates(config)) return;
    data_.valid = open_whole<data::PairStore>(paths, "valid.pairs");
    read_valid_text(config, data_);
  }

  std::unique_ptr<Learner> learner(const TrainConfig& config) const override {
    return std::make_unique<TranslatorLearner>(config, data_);
  }

  std::string description() const override {
    return fmt::format("{} pairs, {} source and {} target tokens", with_commas(data_.train.size()),
                       with_commas(data_.train.source_tokens()), with_commas(data_.train.target_tokens()));
  }

 private:
  static text::TokenizerPair stage_new_tokenizers(const TrainConfig& config, const Preparation& preparation) {
    preparation.observer.on_message(fmt::format("training the {} tokenizer", config.text.tokenizer));
    text::TrainedTokenizers trained = text::train_tokenizers(
        tokenizer_config(config), side_of(config, false, preparation), side_of(config, true, preparation));
    for (const auto& [name, content] : trained.files)
      write_file_atomically(staging_of(config.save.out) + "/" + name, content);
    return std::move(trained.pair);
  }

  static text::TokenizerPair stage_tokenizers_of(const TrainConfig& config) {
    const std::string& from = config.model.from;
    text::TokenizerPair tokenizers = text::load_tokenizers(from);
    const models::ModelConfig model = models::read_config(from);
    tasks::check_tokenizers(tokenizers, model, from);
    if (const int32_t eos = tokenizers.target->special().eos; eos != model.tokens.eos) {
      fail_file("[train] the tokenizer of '{}' ends a sentence by id {}, its model by {}", from, eos, model.tokens.eos);
    }
    stage_tokenizer_files(from, staging_of(config.save.out));
    return tokenizers;
  }

  RunData data_;
};

}  // namespace

std::unique_ptr<Task> make_translator_task() { return std::make_unique<TranslatorTask>(); }

}  // namespace heed::train
