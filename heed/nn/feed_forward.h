// FFN(x) = act(x W1 + b1) W2 + b2, or gated: (act(x Wg) * (x W1)) W2.
#pragma once

#include "heed/nn/context.h"
#include "heed/nn/linear.h"

namespace heed::nn {

struct FeedForward {
  Linear up, gate_map, down;
  bool gated = false;
  Activation act = Activation::kRelu;
  float activation_dropout = 0;
  std::string path;
  uint64_t place = 0;

  FeedForward() = default;
  FeedForward(const Scope& scope, const StackConfig& config);
  Tensor forward(const Tensor& x, const Spans& spans, const Context& context) const;
};

}  // namespace heed::nn
