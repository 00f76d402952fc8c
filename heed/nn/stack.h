// N blocks one after the other, and a last norm where the config says so.
#pragma once

#include "heed/nn/blocks.h"
#include "heed/tensor/recompute.h"

namespace heed::nn {

template <class Block>
struct Stack {
  StackConfig config;
  PositionEncoding positions;
  std::vector<Block> blocks;
  Norm final_norm;
  std::string path;

  Stack() = default;
  Stack(const Scope& scope, const StackConfig& stack_config, bool bidirectional)
      : config(stack_config), path(scope.path()) {
    config.check(bidirectional);
    positions = PositionEncoding(scope / "positions", config, bidirectional);
    for (int64_t i = 0; i < config.layers; ++i) blocks.emplace_back(scope / "layers" / i, config).number = i;
    if (config.final_norm) final_norm = Norm(scope / "norm", config);
  }

  Tensor forward(const StackInput& in, const Context& context) const {
    Tensor x = in.x;  // (T, C)
    for (const Block& block : blocks)
      x = context.recompute && !context.trace && !in.cache ? run_twice(block, x, in, context)
                                                           : block.forward(x, in, positions, context);
    x = final_norm(x);
    if (context.trace) context.trace->rows(path + ".output", x, in.spans);
    return x;
  }

 private:
  // Once now, and again in the backward: until then the stack stays where it is.
  Tensor run_twice(const Block& block, const Tensor& input, const StackInput& in, const Context& context) const {
    const StackInput spans{.x = {}, .spans = in.spans, .causal = in.causal, .memory_spans = in.memory_spans};
    return recomputed(input, in.memory, [&block, this, spans, context](const Tensor& x, const Tensor& memory) {
      StackInput here = spans;
      here.memory = memory;
      return block.forward(x, here, positions, context);
    });
  }
};

using EncoderStack = Stack<EncoderBlock>;
using DecoderStack = Stack<DecoderBlock>;

}  // namespace heed::nn
