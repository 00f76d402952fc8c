#include "heed/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/decode/alignment.h"
#include "heed/models/directory.h"
#include "heed/tasks/translator.h"
#include "heed/train/bleu.h"
#include "heed/train/chrf.h"
#include "heed/train/pair_batch.h"
#include "heed/train/validation.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

models::ModelConfig model_of(const TrainConfig& config, const RunData& data) {
  models::ModelConfig c = model_config(config, data.tokenizers.source->size(), data.tokenizers.target->size());
  const text::SpecialIds ids = data.tokenizers.target->special();
  c.tokens = {ids.pad, ids.eos, ids.unk, ids.pad};
  return c;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const RunData& data, const RunFolder& folder, Observer& observer)
    : config_(config),
      data_(data),
      folder_(folder),
      observer_(observer),
      model_(model_of(config, data), static_cast<uint64_t>(config.train.seed)),
      optimizer_(model_.parameters, optimizer_config(config)),
      schedule_(schedule_of(config)),
      log_(folder.model) {
  if (config_.train.average_decay > 0) {
    average_ = Buffer(model_.parameters.arena_size());
    std::memcpy(average_.data(), model_.parameters.values(),
                static_cast<size_t>(model_.parameters.arena_size()) * sizeof(float));
  }
}

RunArrays Trainer::arrays() const {
  return {model_.parameters.arena_size(), model_.parameters.values(), optimizer_.moments(),
          average_ ? average_.data() : nullptr};
}

bool Trainer::resume() {
  const std::vector<CheckpointFile> all = checkpoints_in(folder_.training());
  if (all.empty()) return false;
  resume_from(all.front().path);
  return true;
}

void Trainer::resume_from(const std::string& checkpoint) {
  state_ = read_checkpoint(checkpoint, arrays(), data_.identity);
  optimizer_.set_steps(state_.step - state_.skipped);
}

// --- The loop ---

Ended Trainer::run(const std::function<bool()>& should_stop) {
  log_.open_at(state_.metrics_bytes);
  if (config_.save.tensorboard) events_.emplace(folder_.training() + "/tensorboard").start(state_.step + 1);
  while (!limit_reached()) {
    if (should_stop()) {
      save(CheckpointKind::kStopped);
      return Ended::kAsked;
    }
    if (out_of_patience()) {
      save(CheckpointKind::kStopped);
      return Ended::kPatience;
    }
    step();
    if (due(config_.valid.every)) validate();
    if (due(config_.save.every > 0 ? config_.save.every : config_.valid.every)) save(CheckpointKind::kRegular);
  }
  if (state_.validated_step != state_.step) validate();
  save(CheckpointKind::kStopped);
  return Ended::kLimit;
}

void Trainer::step() {
  const double start = now();
  const std::vector<std::vector<uint32_t>> batches = next_batches();
  const double learning_rate = train::learning_rate(schedule_, state_.step + 1);
  const StepLoss loss = forward_backward(batches);
  const double norm = std::isfinite(loss.loss) ? optimizer_.step(learning_rate) : NAN;
  ++state_.step;
  state_.tokens += loss.tokens;
  if (!std::isfinite(norm)) {
    refuse_bad_loss(loss, norm, batches);
  } else {
    update_average();
  }
  const double seconds = now() - start;
  state_.seconds += seconds;
  report(loss, learning_rate, norm, seconds);
}

Trainer::StepLoss Trainer::forward_backward(const std::vector<std::vector<uint32_t>>& batches) {
  const PrecisionScope precision(config_.train.precision == "bf16" ? Precision::kBf16 : Precision::kF32);
  const nn::Context context{.training = true,
                            .seed = static_cast<uint64_t>(config_.train.seed),
                            .step = static_cast<uint64_t>(state_.step),
                            .trace = nullptr};
  StepLoss total;
  for (const auto& sentences : batches) {
    for (const uint32_t i : sentences)
      total.rows += data_.train.target_length(i), total.tokens += data_.train.source_length(i);
  }
  total.tokens += total.rows;
  uint32_t first_id = 0;
  for (const auto& sentences : batches) {
    const models::PairBatch batch = pair_batch(data_.train, sentences, model_.config.tokens.start, first_id);
    const LossArgs args{.smoothing = static_cast<float>(config_.train.smoothing),
                        .scale = 1.0f / static_cast<float>(total.rows)};
    const LossResult result = model_.loss(batch, args, context);
    result.loss.backward();
    total.loss += double{result.loss.item()};
    total.nll += result.nll;
    first_id += static_cast<uint32_t>(sentences.size());
  }
  return total;
}

// The sentences of one step, and the place in the data moved on behind them.
std::vector<std::vector<uint32_t>> Trainer::next_batches() {
  std::vector<std::vector<uint32_t>> batches;
  epoch_ended_ = false;
  while (static_cast<int64_t>(batches.size()) < config_.train.accumulate) {
    const std::span<const uint32_t> sentences = batches_of(state_.epoch).batch(state_.batch);
    batches.emplace_back(sentences.begin(), sentences.end());
    if (++state_.batch == epoch_->size()) {
      ++state_.epoch;
      state_.batch = 0;
      epoch_ended_ = true;
      break;  // a step never holds sentences of two epochs
    }
  }
  return batches;
}

const data::EpochBatches& Trainer::batches_of(int64_t epoch) {
  if (epoch_of_batches_ != epoch) {
    const data::BatchConfig how{.tokens = config_.train.batch_tokens,
                                .seed = static_cast<uint64_t>(config_.train.seed)};
    epoch_ = std::make_unique<data::EpochBatches>(data_.train, how, epoch);
    epoch_of_batches_ = epoch;
  }
  return *epoch_;
}

int64_t Trainer::steps_of_an_epoch() {
  const int64_t n = batches_of(state_.epoch).size(), k = config_.train.accumulate;
  return (n + k - 1) / k;
}

double Trainer::measure_speed() {
  constexpr double kSeconds = 1.5;
  const data::EpochBatches& batches = batches_of(state_.epoch);
  const double start = now();
  double measured_from = start;
  int64_t tokens = 0;
  for (int64_t i = 0; i < 2 || (i < batches.size() && now() - start < kSeconds); ++i) {
    const std::span<const uint32_t> sentences = batches.batch(i % batches.size());
    if (i == 1) measured_from = now(), tokens = 0;  // the first one warms up
    tokens += forward_backward({{sentences.begin(), sentences.end()}}).tokens;
    model_.parameters.clear_gradients();
  }
  return static_cast<double>(tokens) / (now() - measured_from);
}

void Trainer::update_average() {
  if (!average_) return;
  // Young averages follow closely: the start should not weigh for ever.
  const double grown = static_cast<double>(state_.step + 1) / static_cast<double>(state_.step + 10);
  const auto keep = static_cast<float>(std::min(config_.train.average_decay, grown));
  const float* weights = model_.parameters.values();
  float* average = average_.data();
  parallel_for(model_.parameters.arena_size(), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) average[i] = keep * average[i] + (1 - keep) * weights[i];
  });
}

void Trainer::refuse_bad_loss(const StepLoss& loss, double norm, const std::vector<std::vector<uint32_t>>& batches) {
  model_.parameters.clear_gradients();
  ++state_.skipped;
  const std::string what =
      fmt::format("step {}: the loss is {} and the gradient's norm {}; the batch begins with sentence {} of the data",
                  state_.step, loss.loss, norm, batches[0][0] + 1);
  if (config_.train.bad_loss == "stop") fail("[train] {}; the last checkpoint is as it was", what);
  observer_.on_message(what + ": skipped");
}

bool Trainer::due(int64_t every) const { return every > 0 ? state_.step % every == 0 : epoch_ended_; }

bool Trainer::out_of_patience() const {
  return config_.valid.patience > 0 && state_.validations_since_best >= config_.valid.patience;
}

bool Trainer::limit_reached() const {
  const TrainConfig::Run& t = config_.train;
  return (t.max_steps > 0 && state_.step >= t.max_steps) || (t.max_epochs > 0 && state_.epoch >= t.max_epochs) ||
         (t.max_minutes > 0 && state_.seconds >= 60 * t.max_minutes);
}

// --- What people see ---

double Trainer::seconds_left() const {
  const TrainConfig::Run& t = config_.train;
  const double a_step = state_.seconds / static_cast<double>(std::max<int64_t>(1, state_.step));
  double left = INFINITY;
  if (t.max_steps > 0) left = std::min(left, a_step * static_cast<double>(t.max_steps - state_.step));
  if (t.max_epochs > 0 && epoch_) {
    const double steps = static_cast<double>(epoch_->size()) / static_cast<double>(t.accumulate);
    const double done = static_cast<double>(state_.batch) / static_cast<double>(epoch_->size());
    left = std::min(left, a_step * steps * (static_cast<double>(t.max_epochs - state_.epoch) - done));
  }
  if (t.max_minutes > 0) left = std::min(left, 60 * t.max_minutes - state_.seconds);
  return std::isfinite(left) ? std::max(0.0, left) : -1;
}

void Trainer::report(const StepLoss& loss, double learning_rate, double norm, double seconds) {
  // A rate over the last few seconds: steps differ in size.
  constexpr double kLately = 5;
  lately_seconds_ += seconds, lately_tokens_ += loss.tokens;
  if (lately_seconds_ > 2 * kLately) lately_seconds_ /= 2, lately_tokens_ /= 2;
  StepReport r;
  r.step = state_.step;
  r.epoch = epoch_of_batches_, r.batches = epoch_->size();
  r.batch = epoch_ended_ ? epoch_->size() : state_.batch;
  r.loss = loss.loss;
  r.perplexity = std::exp(loss.nll / static_cast<double>(loss.rows));
  r.learning_rate = learning_rate, r.gradient_norm = norm;
  r.tokens_per_second = static_cast<double>(lately_tokens_) / lately_seconds_;
  r.seconds = state_.seconds;
  r.seconds_left = seconds_left();
  log_.add(r);
  if (events_) events_->add(r);
  observer_.on_step(r);
}

// --- Validation and checkpoints ---

void Trainer::validate() {
  if (!data_.valid) return;
  ValidationReport r;
  r.step = state_.validated_step = state_.step, r.epoch = state_.epoch;
  with_published_weights([&] { measure(r); });
  log_.add(r);
  if (events_) events_->add(r);
  log_.draw_curves();
  observer_.on_validation(r);
}

void Trainer::measure(ValidationReport& r) {
  const double start = now();
  r.loss = validation_loss(model_, *data_.valid, 2 * config_.train.batch_tokens);
  r.perplexity = std::exp(r.loss);
  if (!data_.valid_source.empty()) {
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
  r.seconds = now() - start;
  keep_best(r);
}

void Trainer::keep_best(ValidationReport& r) {
  const double value = config_.valid.metric == "loss" || r.bleu < 0 ? -r.loss
                       : config_.valid.metric == "chrf"             ? r.chrf
                                                                    : r.bleu;
  r.best = std::isfinite(value) && (state_.best_step < 0 || value > state_.best);
  if (!r.best) {
    ++state_.validations_since_best;
    return;
  }
  state_.best = value;
  state_.best_step = state_.step;
  state_.validations_since_best = 0;
  publish();
}

void Trainer::with_weights(const float* weights, const std::function<void()>& body) {
  const int64_t n = model_.parameters.arena_size();
  const std::vector<float> own(model_.parameters.values(), model_.parameters.values() + n);
  std::copy_n(weights, n, model_.parameters.values());
  body();
  std::copy(own.begin(), own.end(), model_.parameters.values());
}

void Trainer::with_published_weights(const std::function<void()>& body) {
  average_ ? with_weights(average_.data(), body) : body();
}

void Trainer::publish() {
  constexpr int64_t kPairs = 40;
  const data::PairStore& store = data_.valid ? *data_.valid : data_.train;
  std::vector<decode::IdPair> pairs;
  for (int64_t i = 0; i < std::min(kPairs, store.size()); ++i) {
    const auto source = store.source(i), target = store.target(i);
    pairs.push_back({{source.begin(), source.end()}, {target.begin(), target.end()}});
  }
  model_.config.alignment = decode::best_alignment_head(model_, pairs);
  models::save_translator(folder_.model, model_);
}

void Trainer::save(CheckpointKind kind) {
  state_.metrics_bytes = log_.bytes();
  const std::string path = checkpoint_path(folder_.training(), state_.step, kind);
  write_checkpoint(path, state_, arrays(), data_.identity);
  remove_old_checkpoints();
  observer_.on_saved(state_.step, path);
}

void Trainer::write_checkpoint_to(const std::string& path) const {
  write_checkpoint(path, state_, arrays(), data_.identity);
}

void Trainer::remove_old_checkpoints() {
  int64_t regular = 0;
  for (const CheckpointFile& file : checkpoints_in(folder_.training())) {
    const bool old = file.kind == CheckpointKind::kRegular ? ++regular > config_.save.keep : file.step < state_.step;
    if (old) fs::remove(file.path);
  }
}

void Trainer::finish() {
  log_.draw_curves();
  const int64_t last = config_.train.average_last;
  if (last == 0) {
    // Without a validation there is no best one: the last is it.
    if (state_.best_step < 0) with_published_weights([&] { publish(); });
    return;
  }
  std::vector<CheckpointFile> all = checkpoints_in(folder_.training());
  std::erase_if(all, [](const CheckpointFile& file) { return file.kind != CheckpointKind::kRegular; });
  if (all.empty()) return with_published_weights([&] { publish(); });
  all.resize(std::min(all.size(), static_cast<size_t>(last)));
  std::vector<double> sum(static_cast<size_t>(model_.parameters.arena_size()));
  for (const CheckpointFile& file : all) add_checkpoint_weights(file.path, sum);
  std::vector<float> mean(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(all.size()));
  with_weights(mean.data(), [&] { publish(); });
}

}  // namespace heed::train
