#include "heed/train/translator_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/decode/alignment.h"
#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/tasks/translator.h"
#include "heed/train/bleu.h"
#include "heed/train/chrf.h"
#include "heed/train/pair_batch.h"
#include "heed/train/validation.h"

namespace heed::train {
namespace {

models::ModelConfig model_of(const TrainConfig& config, const RunData& data) {
  models::ModelConfig c = model_config(config, data.tokenizers.source->size(), data.tokenizers.target->size());
  if (!config.model.from.empty()) return c;
  const text::SpecialIds ids = data.tokenizers.target->special();
  c.tokens = {ids.pad, ids.eos, ids.unk, ids.pad};
  return c;
}

models::EncoderDecoder first_model(const TrainConfig& config, const RunData& data) {
  models::EncoderDecoder model(model_of(config, data), static_cast<uint64_t>(config.train.seed));
  const std::string& from = config.model.from;
  if (!from.empty()) model.parameters.copy_from(models::load_translator(from).parameters);
  return model;
}

}  // namespace

TranslatorLearner::TranslatorLearner(const TrainConfig& config, const RunData& data)
    : config_(config), data_(data), model_(first_model(config, data)) {}

int64_t TranslatorLearner::batches(int64_t epoch) {
  if (epoch_of_batches_ != epoch) {
    const data::BatchConfig how{.tokens = std::max<int64_t>(1, config_.train.batch_tokens / readings()),
                                .sentences = data::BatchConfig{}.sentences / readings(),
                                .seed = static_cast<uint64_t>(config_.train.seed)};
    epoch_ = std::make_unique<data::EpochBatches>(data_.train, how, epoch);
    epoch_of_batches_ = epoch;
  }
  return epoch_->size();
}

BatchSize TranslatorLearner::size_of(int64_t batch) const {
  BatchSize size;
  for (const uint32_t i : epoch_->batch(batch)) {
    size.rows += readings() * data_.train.target_length(i);
    size.tokens += readings() * (data_.train.source_length(i) + data_.train.target_length(i));
    size.sequences += static_cast<uint32_t>(readings());
  }
  return size;
}

BatchLoss TranslatorLearner::learn(int64_t batch, const LossArgs& args, const nn::Context& context, uint32_t first_id) {
  const std::span<const uint32_t> once = epoch_->batch(batch);
  std::vector<uint32_t> sentences(once.begin(), once.end());
  if (readings() == 2) sentences.insert(sentences.end(), once.begin(), once.end());
  const models::PairBatch pairs = pair_batch(data_.train, sentences, model_.config.tokens.start, first_id);
  LossArgs own = args;
  own.agreement = static_cast<float>(config_.train.agreement);
  const LossResult result = model_.loss(pairs, own, context);
  result.loss.backward();
  return {double{result.loss.item()}, result.nll};
}

// Both sides of its first pair, shortened.
std::string TranslatorLearner::begin_of(int64_t batch) const {
  const uint32_t first = epoch_->batch(batch)[0];
  return fmt::format("{} = {}", in_quotes(data_.tokenizers.source->decode(data_.train.source(first))),
                     in_quotes(data_.tokenizers.target->decode(data_.train.target(first))));
}

int64_t TranslatorLearner::usual_batches() const {
  const int64_t larger_side = std::max(data_.train.source_tokens(), data_.train.target_tokens());
  return std::max<int64_t>(1, larger_side * readings() / config_.train.batch_tokens);
}

void TranslatorLearner::measure(ValidationReport& r) {
  r.loss = validation_loss(model_, *data_.valid, 2 * config_.train.batch_tokens);
  r.perplexity = std::exp(r.loss);
  if (data_.valid_source.empty()) return;
  tasks::TranslateConfig how;
  how.stream.search.beam = config_.valid.beam;
  const std::vector<std::string> lines = tasks::translate({model_, data_.tokenizers}, data_.valid_source, how);
  r.bleu = corpus_bleu(lines, data_.valid_target,
                       {.tokens = bleu_tokens(config_.valid.bleu_tokens), .lowercase = config_.valid.lowercase})
               .score;
  r.chrf = corpus_chrf(lines, data_.valid_target, {.lowercase = config_.valid.lowercase});
  const size_t shown = std::min(lines.size(), static_cast<size_t>(config_.valid.samples));
  for (size_t i = 0; i < shown; ++i) r.samples.push_back({data_.valid_source[i], data_.valid_target[i], lines[i]});
}

void TranslatorLearner::publish(const std::string& folder) {
  constexpr int64_t kPairs = 40;
  const data::PairStore& store = data_.valid ? *data_.valid : data_.train;
  std::vector<decode::IdPair> pairs;
  for (int64_t i = 0; i < std::min(kPairs, store.size()); ++i) {
    const auto source = store.source(i), target = store.target(i);
    pairs.push_back({{source.begin(), source.end()}, {target.begin(), target.end()}});
  }
  model_.config.alignment = decode::best_alignment_head(model_, pairs);
  models::save_translator(folder, model_);
}

}  // namespace heed::train
