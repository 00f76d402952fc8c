#include "heed/train/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/optimizer.h"

namespace heed::train {
namespace {

// The sign of a NaN says nothing.
std::string number_text(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

}  // namespace

Trainer::Trainer(const TrainConfig& config, std::unique_ptr<Learner> learner, const RunFolder& folder,
                 Observer& observer)
    : config_(config),
      learner_(std::move(learner)),
      folder_(folder),
      observer_(observer),
      optimizer_(learner_->parameters(), optimizer_config(config)),
      schedule_(schedule_of(config)),
      log_(folder.model) {
  if (config_.train.average_decay > 0) {
    average_ = Buffer(learner_->parameters().arena_size());
    std::memcpy(average_.data(), learner_->parameters().values(),
                static_cast<size_t>(learner_->parameters().arena_size()) * sizeof(float));
  }
}

RunArrays Trainer::arrays() const {
  return {learner_->parameters().arena_size(), learner_->parameters().values(), optimizer_.moments(),
          average_ ? average_.data() : nullptr};
}

bool Trainer::resume() {
  const std::vector<CheckpointFile> all = checkpoints_in(folder_.training());
  std::string damaged;
  for (const CheckpointFile& file : all) {
    try {
      resume_from(file.path);
    } catch (const FileError& error) {
      if (damaged.empty()) damaged = error.what();
      continue;
    }
    // The steps that are lost are run again, to the same bits.
    if (!damaged.empty()) observer_.on_message(fmt::format("{}: going on from '{}'", damaged, file.path));
    if (state_.written_by != this_writer()) {
      observer_.on_message(fmt::format("the run was saved by {} and goes on with {}: its bits may differ",
                                       state_.written_by.empty() ? "an older heed" : printable(state_.written_by, 100),
                                       this_writer()));
    }
    return true;
  }
  if (!damaged.empty()) throw FileError(damaged);
  return false;
}

void Trainer::resume_from(const std::string& checkpoint) {
  state_ = read_checkpoint(checkpoint, arrays(), learner_->identity());
  const int64_t batches = learner_->batches(state_.epoch);
  if (state_.batch >= batches) {
    fail_file("[checkpoint] '{}': its next batch is {} of epoch {}, expected below {}", checkpoint, state_.batch,
              state_.epoch, batches);
  }
  optimizer_.set_steps(state_.step - state_.skipped);
  saved_step_ = state_.step;
}

// --- The loop ---

Ended Trainer::run(const std::function<bool()>& should_stop) {
  if (config_.train.precision == "bf16" && !kernels::has_native_bf16()) {
    observer_.on_message("precision bf16: this CPU has no bf16 products, they are computed in f32, slowly");
  }
  log_.open_at(state_.metrics_bytes);
  if (config_.save.tensorboard) events_.emplace(folder_.training() + "/tensorboard").start(state_.step + 1);
  counted_until_ = now();
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
    if (due(config_.valid.every)) validate(Why::kDue);
    if (astray()) continue;  // what is saved is good to go on from
    if (due(config_.save.every > 0 ? config_.save.every : config_.valid.every)) {
      save(CheckpointKind::kRegular);
    } else if (unsaved_for_long()) {
      save(CheckpointKind::kStopped);
    }
  }
  if (state_.validated_step != state_.step) validate(Why::kLimit);
  save(CheckpointKind::kStopped);
  return Ended::kLimit;
}

void Trainer::step() {
  const double start = now();
  const StepBatches batches = last_ = next_batches();
  const double learning_rate = train::learning_rate(schedule_, state_.step + 1);
  const StepLoss loss = forward_backward(batches);
  const double norm = std::isfinite(loss.loss) ? optimizer_.step(learning_rate) : NAN;
  ++state_.step;
  state_.tokens += loss.tokens;
  if (!std::isfinite(norm)) {
    refuse_bad_loss(loss, norm, batches);
  } else {
    state_.bad_steps = 0;
    update_average();
  }
  count_time();
  report(loss, learning_rate, norm, counted_until_ - start);
}

void Trainer::count_time() {
  const double until = now();
  state_.seconds += until - counted_until_;
  counted_until_ = until;
}

Trainer::StepLoss Trainer::forward_backward(const StepBatches& batches) {
  const PrecisionScope precision(config_.train.precision == "bf16" ? Precision::kBf16 : Precision::kF32);
  const nn::Context context{.training = true,
                            .seed = static_cast<uint64_t>(config_.train.seed),
                            .step = static_cast<uint64_t>(state_.step),
                            .trace = nullptr,
                            .recompute = config_.train.activation_checkpointing == "on"};
  learner_->batches(batches.epoch);
  StepLoss total;
  for (int64_t i = batches.first; i < batches.last; ++i) {
    const BatchSize size = learner_->size_of(i);
    total.rows += size.rows, total.tokens += size.tokens;
  }
  const LossArgs args{.smoothing = static_cast<float>(config_.train.smoothing),
                      .scale = 1.0f / static_cast<float>(std::max<int64_t>(1, total.rows))};
  total.bad_batch = batches.first;
  uint32_t first_id = 0;
  for (int64_t i = batches.first; i < batches.last; ++i) {
    const BatchLoss one = learner_->learn(i, args, context, first_id);
    total.loss += one.loss, total.nll += one.nll;
    if (std::isfinite(total.loss)) ++total.bad_batch;
    first_id += learner_->size_of(i).sequences;
  }
  if (total.bad_batch == batches.last) total.bad_batch = batches.first;  // none is to blame alone
  return total;
}

// The batches of one step, and the place in the data moved on behind them. A step never holds those of two epochs.
Trainer::StepBatches Trainer::next_batches() {
  const int64_t all = learner_->batches(state_.epoch);
  const StepBatches batches{state_.epoch, state_.batch, std::min(all, state_.batch + config_.train.accumulate)};
  epoch_ended_ = batches.last == all;
  state_.batch = epoch_ended_ ? 0 : batches.last;
  state_.epoch += epoch_ended_;
  return batches;
}

int64_t Trainer::steps_of_an_epoch() {
  const int64_t n = learner_->batches(state_.epoch), k = config_.train.accumulate;
  return (n + k - 1) / k;
}

int64_t Trainer::tokens_of_an_epoch() {
  int64_t tokens = 0;
  for (int64_t i = 0; i < learner_->batches(state_.epoch); ++i) tokens += learner_->size_of(i).tokens;
  return tokens;
}

int64_t Trainer::largest_batch() {
  int64_t largest = 0, most = 0;
  for (int64_t i = 0; i < learner_->batches(state_.epoch); ++i) {
    if (const int64_t tokens = learner_->size_of(i).tokens; tokens > most) largest = i, most = tokens;
  }
  return largest;
}

double Trainer::measure_speed() {
  constexpr double kSeconds = 1.5;
  const int64_t batches = learner_->batches(state_.epoch), largest = largest_batch();
  const auto run = [&](int64_t batch) {
    const int64_t tokens = forward_backward({state_.epoch, batch, batch + 1}).tokens;
    learner_->parameters().clear_gradients();
    return tokens;
  };
  run(largest);  // warms up, and takes the memory that a step may need
  const double start = now();
  int64_t tokens = 0;
  for (int64_t i = 0; i == 0 || (i < batches && now() - start < kSeconds); ++i) tokens += run(i);
  return static_cast<double>(tokens) / (now() - start);
}

void Trainer::update_average() {
  if (!average_) return;
  // Young averages follow closely: the start should not weigh for ever.
  const double grown = static_cast<double>(state_.step + 1) / static_cast<double>(state_.step + 10);
  const auto keep = static_cast<float>(std::min(config_.train.average_decay, grown));
  kernels::moving_average(average_.data(), learner_->parameters().values(), keep, learner_->parameters().arena_size());
}

void Trainer::refuse_bad_loss(const StepLoss& loss, double norm, const StepBatches& batches) {
  learner_->parameters().clear_gradients();
  ++state_.skipped, ++state_.bad_steps;
  const std::string norm_text =
      std::isfinite(loss.loss) ? fmt::format(" and the gradient's norm {}", number_text(norm)) : "";
  const std::string what =
      fmt::format("step {}, batch {} of {} in epoch {}: the loss is {}{}; its {} sequences begin with {}", state_.step,
                  loss.bad_batch + 1, learner_->batches(batches.epoch), batches.epoch + 1, number_text(loss.loss),
                  norm_text, learner_->size_of(loss.bad_batch).sequences, learner_->begin_of(loss.bad_batch));
  if (config_.train.bad_loss == "stop") fail_file("[train] {}: stopped, the last checkpoint is as it was", what);
  observer_.on_message(what + ": skipped");
  constexpr int kMost = 20;
  if (state_.bad_steps == kMost) {
    fail_file(
        "[train] no loss was a number in the last {} steps: the run went astray, and its last checkpoint is as it "
        "was; a lower train.learning_rate may help",
        kMost);
  }
}

// Where no number of steps is given: with the end of an epoch, of small data with that of every second, third, ..., of
// large data after a number of steps too.
bool Trainer::due(int64_t every) const {
  if (every > 0) return state_.step % every == 0;
  constexpr int64_t kFewest = 100, kMost = 5000;
  const int64_t steps = std::max<int64_t>(1, learner_->usual_batches() / config_.train.accumulate);
  if (steps > kMost && state_.step % kMost == 0) return true;
  return epoch_ended_ && state_.epoch % ((kFewest + steps - 1) / steps) == 0;
}

// Little is lost by a kill where validations are far apart. No average counts what is saved for that alone.
bool Trainer::unsaved_for_long() const {
  constexpr int64_t kMost = 1000;
  return config_.save.every == 0 && state_.step - saved_step_ >= kMost;
}

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
  // By the speed of late: a busy hour behind says nothing of the time ahead.
  const double tokens_of_a_step =
      static_cast<double>(state_.tokens) / static_cast<double>(std::max<int64_t>(1, state_.step));
  const double a_step = lately_seconds_ * tokens_of_a_step / static_cast<double>(std::max<int64_t>(1, lately_tokens_)) +
                        validation_seconds_of_a_step_;
  double left = INFINITY;
  if (t.max_steps > 0) left = std::min(left, a_step * static_cast<double>(t.max_steps - state_.step));
  if (t.max_epochs > 0) {
    const auto batches = static_cast<double>(learner_->batches(last_.epoch));
    const double steps = batches / static_cast<double>(t.accumulate);
    const double done = static_cast<double>(state_.batch) / batches;
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
  r.epoch = state_.epoch_of_step(), r.batches = learner_->batches(last_.epoch);
  r.batch = last_.last;
  r.loss = loss.loss;
  r.perplexity = std::exp(loss.nll / static_cast<double>(std::max<int64_t>(1, loss.rows)));
  r.learning_rate = learning_rate, r.gradient_norm = norm;
  r.tokens_per_second = static_cast<double>(lately_tokens_) / lately_seconds_;
  r.seconds = state_.seconds;
  r.seconds_left = seconds_left();
  log_.add(r);
  if (events_) events_->add(r);
  observer_.on_step(r);
}

}  // namespace heed::train
