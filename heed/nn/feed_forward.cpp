#include "heed/nn/feed_forward.h"

#include "heed/nn/trace.h"

namespace heed::nn {

FeedForward::FeedForward(const Scope& scope, const StackConfig& config)
    : gated(config.gated),
      act(config.activation),
      activation_dropout(config.dropout.activation),
      path(scope.path()),
      place(place_of(scope.path())) {
  const LinearOptions options = linear_options(config, config.biases.feed_forward);
  if (gated) gate_map = Linear(scope / "gate_proj", config.d_model, config.d_ff, options);
  up = Linear(scope / "up_proj", config.d_model, config.d_ff, options);
  down = Linear(scope / "down_proj", config.d_ff, config.d_model, options);
}

Tensor FeedForward::forward(const Tensor& x, const Spans& spans, const Context& context) const {
  const Dropout drop = context.dropout(activation_dropout, place);
  const auto hidden = [&] {
    const Tensor wide = up(x, spans, context);                                                         // (T, F)
    const Tensor active = gated ? gate(gate_map(x, spans, context), wide, act) : activate(wide, act);  // (T, F)
    return dropout(active, spans, drop);
  };
  if (context.trace) {
    context.trace->rows(path + ".input", x, spans);
    // The fast path keeps nothing of it: whoever asks has it computed once more.
    if (context.trace->wanted(path + ".hidden")) context.trace->rows(path + ".hidden", hidden(), spans);
  }
  const bool plain = up.adapters.empty() && down.adapters.empty();
  if (!gated && plain) return feed_forward(x, {up.map, down.map, act, drop}, spans);
  return down(hidden(), spans, context);  // (T, C)
}

}  // namespace heed::nn
