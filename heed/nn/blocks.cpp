#include "heed/nn/blocks.h"

namespace heed::nn {

Block::Block(const Scope& scope, const StackConfig& config)
    : with_attention(config.with_attention), with_feed_forward(config.with_feed_forward), path(scope.path()) {}

void Block::declare_self_attention(const Scope& scope, const StackConfig& config) {
  if (!with_attention) return;
  self_attn = MultiHeadAttention(scope / "self_attn", config);
  self_attn_layer = SubLayer(scope / "self_attn_norm", config);
}

void Block::declare_feed_forward(const Scope& scope, const StackConfig& config) {
  if (!with_feed_forward) return;
  feed_forward = FeedForward(scope / "feed_forward", config);
  feed_forward_layer = SubLayer(scope / "feed_forward_norm", config);
}

Tensor Block::attend_to_itself(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                               const Context& context) const {
  if (!with_attention) return x;
  const LayerCache* cache = in.cache ? &in.cache->self[static_cast<size_t>(number)] : nullptr;
  return self_attn_layer.around(x, in.spans, context, [&](const Tensor& h) {
    if (instead_of_self_attn) return instead_of_self_attn(h, in, context);
    return self_attn.self(h, {in.spans, in.spans, in.causal, cache}, positions, context);
  });
}

Tensor Block::feed(const Tensor& x, const StackInput& in, const Context& context) const {
  const auto f = [&](const Tensor& h) {
    return instead_of_feed_forward ? instead_of_feed_forward(h, in, context)
                                   : feed_forward.forward(h, in.spans, context);
  };
  const Tensor y = with_feed_forward ? feed_forward_layer.around(x, in.spans, context, f) : x;
  if (context.trace) context.trace->rows(path + ".output", y, in.spans);
  return y;
}

EncoderBlock::EncoderBlock(const Scope& scope, const StackConfig& config) : Block(scope, config) {
  declare_self_attention(scope, config);
  declare_feed_forward(scope, config);
}

Tensor EncoderBlock::forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                             const Context& context) const {
  const Tensor y = attend_to_itself(x, in, positions, context);  // (T, C)
  return feed(y, in, context);
}

DecoderBlock::DecoderBlock(const Scope& scope, const StackConfig& config)
    : Block(scope, config), with_cross_attention(config.with_cross_attention) {
  declare_self_attention(scope, config);
  if (with_cross_attention) {
    cross_attn = MultiHeadAttention(scope / "cross_attn", config);
    cross_attn_layer = SubLayer(scope / "cross_attn_norm", config);
  }
  declare_feed_forward(scope, config);
}

Tensor DecoderBlock::attend_to_memory(const Tensor& x, const StackInput& in, const Context& context) const {
  if (!with_cross_attention) return x;
  const LayerCache* cache = in.cache ? &in.cache->cross[static_cast<size_t>(number)] : nullptr;
  return cross_attn_layer.around(x, in.spans, context, [&](const Tensor& h) {
    if (instead_of_cross_attn) return instead_of_cross_attn(h, in, context);
    const Spans& queries = in.cache ? in.cache->cross_queries : in.spans;
    return cross_attn.cross(h, in.memory, {queries, in.memory_spans, false, cache}, context);
  });
}

Tensor DecoderBlock::forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                             const Context& context) const {
  Tensor y = attend_to_itself(x, in, positions, context);  // (T, C)
  y = attend_to_memory(y, in, context);
  return feed(y, in, context);
}

}  // namespace heed::nn
