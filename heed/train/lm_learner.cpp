#include "heed/train/lm_learner.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/models/foreign_json.h"
#include "heed/tasks/generator.h"

namespace heed::train {
namespace {

// What the config leaves out is the tokenizer's.
void fill_tokens(models::TokenIds& tokens, const LmData& data) {
  const text::SpecialIds ids = data.tokenizer->special();
  // A document begins behind bos, or behind the end of another.
  const int32_t start = data.start >= 0 ? data.start : ids.bos >= 0 ? ids.bos : ids.eos;
  const std::pair<int32_t*, int32_t> unsaid[] = {
      {&tokens.start, start}, {&tokens.eos, ids.eos}, {&tokens.unk, ids.unk}, {&tokens.pad, ids.pad}};
  for (const auto& [id, own] : unsaid) {
    if (*id < 0) *id = own;
  }
}

models::ModelConfig model_of(const TrainConfig& config, const LmData& data) {
  models::ModelConfig c = model_config(config, 0, data.tokenizer->size());
  if (config.model.from.empty()) c.tokens = {-1, -1, -1, -1};
  if (c.tokens.start < 0) fill_tokens(c.tokens, data);
  // Where an answer ends, whoever generates stops: also who knows nothing of the template.
  models::add_ends(c.tokens, {data.end.id}, c.vocabulary);
  return c;
}

// GPT-2's start: what is added to the residual is smaller by the root of how often that happens.
void shrink_residual_weights(const models::Decoder& model) {
  const float factor = 1 / std::sqrt(2 * static_cast<float>(model.config.decoder.layers));
  for (const nn::Parameter& p : model.parameters.list()) {
    if (!p.name.ends_with(".out_proj.weight") && !p.name.ends_with(".down_proj.weight")) continue;
    for (int64_t i = 0; i < p.tensor.numel(); ++i) p.tensor.data()[i] *= factor;
  }
}

// The model as a run starts with it. What an adapter is trained beside stays in its file.
models::Decoder first_model(const TrainConfig& config, const models::ModelConfig& c) {
  const std::string& from = config.model.from;
  if (config.model.adapts()) return models::load_decoder(from, {.as_stored = true, .frozen = true, .config = &c});
  models::Decoder model(c, static_cast<uint64_t>(config.train.seed));
  from.empty() ? shrink_residual_weights(model) : model.parameters.copy_from(models::load_decoder(from).parameters);
  return model;
}

}  // namespace

int64_t predicted(std::span<const int32_t> ids) {
  return std::count_if(ids.begin(), ids.end(), [](int32_t id) { return id >= 0; });
}

double text_loss(const models::Decoder& model, const data::TextStore& store, std::span<const data::Block> blocks,
                 const TextBatchConfig& how, int64_t batch_tokens) {
  const NoGrad no_grad;
  double nll = 0;
  int64_t rows = 0;
  for (size_t begin = 0, end = 0; begin < blocks.size(); begin = end) {
    int64_t tokens = 0;
    while (end < blocks.size() && (end == begin || tokens < batch_tokens)) {
      tokens += blocks[end].end - blocks[end].begin;
      ++end;
    }
    const TextBatch batch = text_batch(store, blocks.subspan(begin, end - begin), how);
    const LossResult result = model.loss(batch.tokens, batch.labels, {}, {});
    nll += result.nll;
    rows += result.rows;
  }
  return rows > 0 ? nll / static_cast<double>(rows) : 0;
}

LmLearner::LmLearner(const TrainConfig& config, const LmData& data) : LmLearner(config, data, model_of(config, data)) {}

LmLearner::LmLearner(const TrainConfig& config, const LmData& data, const models::ModelConfig& model)
    : config_(config),
      data_(data),
      model_(first_model(config, model)),
      how_{data.start >= 0 ? data.start : model_.config.tokens.start, config.data.across} {
  if (!config.model.adapts()) return;
  lora_.emplace(lora_config(config), model_);
  lora_->parameters.allocate(static_cast<uint64_t>(config.train.seed));
  lora_->attach(model_);
}

int64_t LmLearner::batches(int64_t epoch) {
  if (epoch_of_blocks_ != epoch) {
    const data::BlockConfig how{.context = config_.model.context,
                                .tokens = config_.train.batch_tokens,
                                .pack = config_.data.pack.value_or(true),
                                .seed = static_cast<uint64_t>(config_.train.seed),
                                .starts_given = data_.starts_given};
    epoch_ = std::make_unique<data::EpochBlocks>(data_.train, how, epoch);
    epoch_of_blocks_ = epoch;
  }
  return epoch_->size();
}

BatchSize LmLearner::size_of(int64_t batch) const {
  BatchSize size;
  for (const data::Block& block : epoch_->batch(batch)) {
    const auto begin = static_cast<size_t>(block.begin), end = static_cast<size_t>(block.end);
    size.tokens += block.end - block.begin;
    size.rows += predicted(data_.train.ids().subspan(begin, end - begin));
  }
  size.sequences = text_sequences(data_.train, epoch_->batch(batch), how_.across);
  return size;
}

BatchLoss LmLearner::learn(int64_t batch, const LossArgs& args, const nn::Context& context, uint32_t first_id) {
  const TextBatch text = text_batch(data_.train, epoch_->batch(batch), how_, first_id);
  const LossResult result = model_.loss(text.tokens, text.labels, args, context);
  result.loss.backward();
  return {double{result.loss.item()}, result.nll};
}

std::string LmLearner::begin_of(int64_t batch) const { return shown(epoch_->batch(batch)[0]); }

std::string LmLearner::shown(const data::Block& block) const {
  constexpr int64_t kShown = 30;
  std::vector<int32_t> ids;
  for (int64_t i = block.begin; i < std::min(block.begin + kShown, block.end); ++i)
    ids.push_back(data::id_of(data_.train.ids()[static_cast<size_t>(i)]));
  return in_quotes(data_.tokenizer->decode(ids));
}

int64_t LmLearner::usual_batches() const {
  return std::max<int64_t>(1, data_.train.tokens() / config_.train.batch_tokens);
}

void LmLearner::measure(ValidationReport& r) {
  const data::TextStore& store = *data_.valid;
  const int64_t context = config_.model.context;
  std::vector<data::Block> blocks = data_.starts_given
                                        ? data::behind_starts(store, context)
                                        : data::cut_in_blocks(store, context, config_.data.pack.value_or(true));
  int64_t tokens = 0;
  const int64_t most = config_.valid.max_tokens;
  const auto enough = std::find_if(blocks.begin(), blocks.end(), [&](const data::Block& block) {
    return most > 0 && (tokens += block.end - block.begin) > most && block.begin > 0;
  });
  blocks.erase(enough, blocks.end());
  measure_blocks(r, blocks);
  // Whatever the pieces: what a byte of the text costs.
  const int64_t labels = data_.chat ? predicted(store.ids()) : store.tokens();
  r.bits_per_byte = r.loss * static_cast<double>(labels) / (std::numbers::ln2 * static_cast<double>(store.bytes()));
  write_samples(r);
}

void LmLearner::measure_blocks(ValidationReport& r, std::span<const data::Block> blocks) const {
  r.loss = text_loss(model_, *data_.valid, blocks, how_, 2 * config_.train.batch_tokens);
  r.perplexity = std::exp(r.loss);
}

// Up to where the first answer begins.
std::vector<int32_t> LmLearner::first_question(const data::TextStore& store, int64_t conversation) const {
  const auto at = static_cast<size_t>(conversation);
  std::vector<int32_t> ids;
  if (!data_.starts_given) ids.push_back(how_.start);
  for (uint64_t i = store.borders()[at]; i < store.borders()[at + 1] && store.ids()[i] < 0; ++i)
    ids.push_back(data::id_of(store.ids()[i]));
  return ids;
}

// From nothing, as documents begin, or the answers to the first questions; the same numbers are drawn each time, so that
// the texts show what changed.
void LmLearner::write_samples(ValidationReport& r) const {
  if (config_.valid.samples == 0) return;
  constexpr int64_t kTokens = 160;
  tasks::GenerateConfig how;
  how.settings.sampling.temperature = 0.8;
  how.settings.sampling.seed = static_cast<uint64_t>(config_.train.seed);
  how.settings.max_tokens = kTokens;
  how.settings.window = true;
  std::vector<tasks::Prompt> prompts = {{}};
  if (data_.chat) {
    if (data_.end.id >= 0) how.ends = {data_.end.id};
    prompts.clear();
    for (int64_t i = 0; i < std::min(config_.valid.samples, data_.valid->documents()); ++i)
      prompts.push_back({.text = "", .ids = first_question(*data_.valid, i), .by_ids = true});
  } else {
    how.samples = config_.valid.samples;
  }
  const std::vector<tasks::Generated> all = tasks::generate_all({model_, data_.tokenizer.get()}, how, prompts);
  for (size_t i = 0; i < all.size(); ++i) {
    for (const tasks::GeneratedText& text : all[i].texts) {
      const std::string answer = data_.chat ? data_.tokenizer->decode(text.written.ids) : text.text;
      const size_t end = data_.end.text.empty() ? answer.npos : answer.find(data_.end.text);
      r.texts.push_back(data_.tokenizer->decode(prompts[i].ids) + answer.substr(0, end));
    }
  }
}

void LmLearner::publish(const std::string& folder) {
  if (!lora_) return models::save_decoder(folder, model_);
  if (!config_.model.lora_merge) {
    lora_->save(folder);
    return models::save_generation(folder, model_.config);
  }
  const models::Decoder whole = models::load_decoder(config_.model.from, {.frozen = true, .config = &model_.config});
  lora_->merge_into(whole);
  models::save_decoder(folder, whole);
}

}  // namespace heed::train
