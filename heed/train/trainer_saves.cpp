// What a run leaves behind: validations, the best model, checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "heed/train/trainer.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

// Which checkpoints, the newest first, a model is the mean of.
std::string mean_text(const std::vector<CheckpointFile>& all, int64_t wanted) {
  const std::string few = static_cast<int64_t>(all.size()) < wanted ? fmt::format(", {} were asked for", wanted) : "";
  if (all.empty()) return "of the last step: no checkpoint to average" + few;
  return fmt::format("the mean of {} checkpoint{}, of steps {} to {}{}", all.size(), all.size() == 1 ? "" : "s",
                     all.back().step, all.front().step, few);
}

}  // namespace

void Trainer::validate(Why why) {
  if (!learner_->validates()) return;
  const double begun = now();
  const int64_t steps = state_.step - std::max<int64_t>(0, state_.validated_step);
  ValidationReport r;
  r.step = state_.validated_step = state_.step, r.epoch = state_.epoch_of_step();
  with_published_weights([&] {
    const double start = now();
    learner_->measure(r);
    r.seconds = now() - start;
    keep_best(r, why);
  });
  log_.add(r);
  if (events_) events_->add(r);
  log_.draw_curves();
  observer_.on_validation(r);
  if (why == Why::kDue)
    validation_seconds_of_a_step_ = (now() - begun) / static_cast<double>(std::max<int64_t>(1, steps));
  count_time();
}

// The best model is the one with the best score; among those that cannot translate yet, and equal ones, the one with the
// lower loss.
void Trainer::keep_best(ValidationReport& r, Why why) {
  const bool by_loss = config_.valid.metric == "loss" || r.bleu < 0;
  const double value = by_loss ? -r.loss : config_.valid.metric == "chrf" ? r.chrf : r.bleu;
  const bool sound = std::isfinite(value) && std::isfinite(r.loss);
  const bool noise = !by_loss && std::max(value, state_.best) < 1;
  r.best = sound &&
           (state_.best_step < 0 || (noise || value == state_.best ? r.loss < state_.best_loss : value > state_.best));
  if (r.best) {
    state_.best = value, state_.best_loss = r.loss, state_.best_step = state_.step;
    publish();
  }
  if (why == Why::kLimit) return;
  // While either goes on improving, or the warm-up lasts, nobody loses patience.
  const bool better = sound && (value > state_.best_due || r.loss < state_.lowest_loss);
  if (sound) {
    state_.best_due = std::max(state_.best_due, value);
    state_.lowest_loss = std::min(state_.lowest_loss, r.loss);
  }
  const bool patient = better || state_.step < config_.train.warmup;
  state_.validations_since_best = patient ? 0 : state_.validations_since_best + 1;
}

void Trainer::with_weights(const float* weights, const std::function<void()>& body) {
  const int64_t n = learner_->parameters().arena_size();
  const std::vector<float> own(learner_->parameters().values(), learner_->parameters().values() + n);
  std::copy_n(weights, n, learner_->parameters().values());
  body();
  std::copy(own.begin(), own.end(), learner_->parameters().values());
}

void Trainer::with_published_weights(const std::function<void()>& body) {
  average_ ? with_weights(average_.data(), body) : body();
}

void Trainer::publish() { learner_->publish(folder_.model); }

void Trainer::save(CheckpointKind kind) {
  state_.metrics_bytes = log_.bytes();
  saved_step_ = state_.step;
  count_time();
  const std::string path = checkpoint_path(folder_.training(), state_.step, kind);
  write_checkpoint(path, state_, arrays(), learner_->identity());
  if (!astray()) remove_old_checkpoints();  // those from before may be the last that are good
  log_.draw_curves();
  observer_.on_saved(state_.step, path);
  count_time();  // of this save: the file cannot hold it
}

void Trainer::write_checkpoint_to(const std::string& path) const {
  write_checkpoint(path, state_, arrays(), learner_->identity());
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
  all.resize(std::min(all.size(), static_cast<size_t>(last)));
  observer_.on_message(fmt::format("the model is {}", mean_text(all, last)));
  if (all.empty()) return with_published_weights([&] { publish(); });
  std::vector<double> sum(static_cast<size_t>(learner_->parameters().arena_size()));
  for (const CheckpointFile& file : all) add_checkpoint_weights(file.path, sum);
  std::vector<float> mean(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(all.size()));
  with_weights(mean.data(), [&] { publish(); });
}

}  // namespace heed::train
