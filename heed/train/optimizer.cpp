#include "heed/train/optimizer.h"

#include <cmath>

#include "heed/base/error.h"
#include "heed/kernels/elementwise.h"
#include "heed/kernels/optimizer.h"

namespace heed::train {

void check_optimizer(const OptimizerConfig& config) {
  if (config.kind == OptimizerKind::kAdam && config.weight_decay != 0) {
    fail("[optimizer] Adam with a weight decay of {}: expected AdamW", config.weight_decay);
  }
}

Optimizer::Optimizer(const nn::Parameters& parameters, const OptimizerConfig& config)
    : parameters_(parameters), config_(config) {
  const int64_t n = parameters.arena_size();
  if (n == 0) fail("[optimizer] nothing to train");
  if (!parameters.gradients()) fail("[optimizer] the parameters are frozen: expected gradients");
  check_optimizer(config);
  int64_t begin = 0;
  for (const nn::Parameter& p : parameters.list()) {
    if (p.tensor.stored()) fail("[optimizer] '{}' stays in its file: expected numbers in memory", p.name);
    const bool decays = !config.decay_matrices_only || p.tensor.shape().rank() >= 2;
    const double decay = decays ? config.weight_decay : 0;
    const int64_t end = begin + p.tensor.numel();
    if (!segments_.empty() && segments_.back().weight_decay == decay) {
      segments_.back().end = end;
    } else {
      segments_.push_back({begin, end, decay});
    }
    begin = end;
  }
  first_ = Buffer(n);
  kernels::fill(first_.data(), 0, n);
  if (config.kind == OptimizerKind::kSgd) return;
  second_ = Buffer(n);
  kernels::fill(second_.data(), 0, n);
}

double Optimizer::step(double learning_rate) {
  parameters_.finish_gradients();
  const double norm = kernels::norm2(parameters_.gradients(), parameters_.arena_size());
  if (!std::isfinite(norm)) {
    parameters_.clear_gradients();
    return norm;
  }
  ++steps_;
  const bool clip = config_.clip_norm > 0 && norm > config_.clip_norm;
  const float grad_scale = clip ? static_cast<float>(config_.clip_norm / norm) : 1.0f;
  for (const Segment& segment : segments_) update(segment, learning_rate, grad_scale);
  parameters_.clear_gradients();
  return norm;
}

std::vector<float*> Optimizer::moments() const {
  if (second_) return {first_.data(), second_.data()};
  return {first_.data()};
}

void Optimizer::update(const Segment& s, double learning_rate, float grad_scale) {
  const int64_t n = s.end - s.begin;
  float* w = parameters_.values() + s.begin;
  const float* g = parameters_.gradients() + s.begin;
  if (config_.kind == OptimizerKind::kSgd) {
    kernels::sgd({n, w, first_.data() + s.begin, g, static_cast<float>(learning_rate), config_.momentum,
                  static_cast<float>(s.weight_decay), grad_scale});
    return;
  }
  kernels::adam({n, w, first_.data() + s.begin, second_.data() + s.begin, g, learning_rate, config_.beta1,
                 config_.beta2, config_.eps, s.weight_decay, steps_, grad_scale});
}

}  // namespace heed::train
