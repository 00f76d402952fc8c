// Adam, AdamW and SGD with momentum over the arena of parameters, with clipping by the global norm.
#pragma once

#include "heed/nn/parameters.h"

namespace heed::train {

enum class OptimizerKind { kAdam, kAdamW, kSgd };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdam;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;  // double: 1 - beta loses half its digits in float
  float momentum = 0;
  double weight_decay = 0;
  bool decay_matrices_only = true;  // gains, biases and other vectors do not shrink
  float clip_norm = 0;              // 0: no clipping
};

void check_optimizer(const OptimizerConfig& config);

class Optimizer {
 public:
  Optimizer(const nn::Parameters& parameters, const OptimizerConfig& config);

  // One update from the gradients that backward() left, which it then clears. Gives their norm before clipping; where
  // that is not finite, nothing changed and the step does not count.
  double step(double learning_rate);

  int64_t steps() const { return steps_; }
  // What a checkpoint holds besides the parameters: the moments, laid out like the arena (SGD has one).
  std::vector<float*> moments() const;
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  // Neighbours in the arena that decay alike.
  struct Segment {
    int64_t begin, end;
    double weight_decay;
  };
  void update(const Segment& segment, double learning_rate, float grad_scale);

  const nn::Parameters& parameters_;
  OptimizerConfig config_;
  std::vector<Segment> segments_;
  Buffer first_, second_;  // moments; SGD keeps its momentum in the first
  int64_t steps_ = 0;
};

}  // namespace heed::train
