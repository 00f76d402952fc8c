// y = x W + b
#pragma once

#include "heed/nn/config.h"
#include "heed/nn/context.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"

namespace heed::nn {

struct LinearOptions {
  bool bias = true;
  WeightLayout layout = WeightLayout::kOutIn;
  float init_deviation = 0;  // 0: Xavier uniform
};
LinearOptions linear_options(const StackConfig& config, bool biased);  // biased: one of config.biases

// What an adapter adds to maps of x, with dropout of its own on x.
struct LowRank {
  LowRankWeight weight;
  float dropout = 0;
  uint64_t place = 0;
};
// y, the maps of x, with what the adapters add.
Tensor adapted(Tensor y, const Tensor& x, std::span<const LowRank> adapters, const Spans& spans,
               const Context& context);

struct Linear {
  LinearWeight map;
  std::vector<LowRank> adapters;

  Linear() = default;
  Linear(const Scope& scope, int64_t in, int64_t out, const LinearOptions& options);
  // The map alone, and with its adapters.
  Tensor operator()(const Tensor& x, Activation act = Activation::kNone) const { return linear(x, map, act); }
  Tensor operator()(const Tensor& x, const Spans& spans, const Context& context) const {
    return adapted(linear(x, map), x, adapters, spans, context);
  }
};

// Maps of one input, declared so that their weights lie one after the other and multiply as one.
struct NamedSize {
  const char* name;
  int64_t out;
};
std::vector<LinearWeight> linear_group(const Scope& scope, int64_t in, std::initializer_list<NamedSize> maps,
                                       const LinearOptions& options);

}  // namespace heed::nn
