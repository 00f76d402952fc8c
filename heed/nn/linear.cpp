#include "heed/nn/linear.h"

namespace heed::nn {
namespace {

Tensor declare_weight(const Scope& scope, int64_t in, int64_t out, const LinearOptions& options) {
  const Init init = options.init_deviation > 0 ? Init::normal(options.init_deviation) : Init::xavier(in, out);
  const Shape shape = options.layout == WeightLayout::kOutIn ? Shape{out, in} : Shape{in, out};
  return scope.declare("weight", shape, init);
}

}  // namespace

LinearOptions linear_options(const StackConfig& config, bool biased) {
  return {config.bias && biased, config.weights_in_out ? WeightLayout::kInOut : WeightLayout::kOutIn,
          config.init_deviation};
}

Linear::Linear(const Scope& scope, int64_t in, int64_t out, const LinearOptions& options) {
  map.layout = options.layout;
  map.weight = declare_weight(scope, in, out, options);
  if (options.bias) map.bias = scope.declare("bias", {out}, Init::zeros());
}

Tensor adapted(Tensor y, const Tensor& x, std::span<const LowRank> adapters, const Spans& spans,
               const Context& context) {
  for (const LowRank& adapter : adapters) {
    const Tensor dropped = dropout(x, spans, context.dropout(adapter.dropout, adapter.place));
    y = add_low_rank(std::move(y), dropped, adapter.weight);
  }
  return y;
}

std::vector<LinearWeight> linear_group(const Scope& scope, int64_t in, std::initializer_list<NamedSize> maps,
                                       const LinearOptions& options) {
  std::vector<LinearWeight> group;
  for (const NamedSize& m : maps) {
    group.push_back({declare_weight(scope / m.name, in, m.out, options), Tensor(), options.layout});
  }
  size_t i = 0;
  for (const NamedSize& m : maps) {
    if (options.bias) group[i].bias = (scope / m.name).declare("bias", {m.out}, Init::zeros());
    ++i;
  }
  return group;
}

}  // namespace heed::nn
