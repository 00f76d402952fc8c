// y = x W + b
#pragma once

#include "heed/nn/config.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"

namespace heed::nn {

struct LinearOptions {
  bool bias = true;
  WeightLayout layout = WeightLayout::kOutIn;
  float init_deviation = 0;  // 0: Xavier uniform
};
LinearOptions linear_options(const StackConfig& config, bool biased);  // biased: one of config.biases

struct Linear {
  LinearWeight map;

  Linear() = default;
  Linear(const Scope& scope, int64_t in, int64_t out, const LinearOptions& options);
  Tensor operator()(const Tensor& x, Activation act = Activation::kNone) const { return linear(x, map, act); }
};

// Maps of one input, declared so that their weights lie one after the other and multiply as one.
struct NamedSize {
  const char* name;
  int64_t out;
};
std::vector<LinearWeight> linear_group(const Scope& scope, int64_t in, std::initializer_list<NamedSize> maps,
                                       const LinearOptions& options);

}  // namespace heed::nn
