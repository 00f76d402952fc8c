#include "heed/nn/blocks.h"

namespace heed::nn {

EncoderBlock::EncoderBlock(const Scope& scope, const StackConfig& config)
    : with_attention(config.with_attention), with_feed_forward(config.with_feed_forward), path(scope.path()) {
  if (with_attention) {
    self_attn = MultiHeadAttention(scope / "self_attn", config);
    self_attn_layer = SubLayer(scope / "self_attn_norm", config);
  }
  if (with_feed_forward) {
    feed_forward = FeedForward(scope / "feed_forward", config);
    feed_forward_layer = SubLayer(scope / "feed_forward_norm", config);
  }
}

Tensor EncoderBlock::forward(const Tensor& input, const StackInput& in, const PositionEncoding& positions,
                             const Context& context) const {
  Tensor x = input;  // (T, C)
  const LayerCache* cache = in.cache ? &in.cache->self[static_cast<size_t>(number)] : nullptr;
  if (with_attention) {
    x = self_attn_layer.around(x, in.spans, context, [&](const Tensor& h) {
      return self_attn.self(h, {in.spans, in.spans, in.causal, cache}, positions, context);
    });
  }
  if (with_feed_forward) {
    x = feed_forward_layer.around(x, in.spans, context,
                                  [&](const Tensor& h) { return feed_forward.forward(h, in.spans, context); });
  }
  if (context.trace) context.trace->rows(path + ".output", x, in.spans);
  return x;
}

DecoderBlock::DecoderBlock(const Scope& scope, const StackConfig& config)
    : with_attention(config.with_attention),
      with_cross_attention(config.with_cross_attention),
      with_feed_forward(config.with_feed_forward),
      path(scope.path()) {
  if (with_attention) {
    self_attn = MultiHeadAttention(scope / "self_attn", config);
    self_attn_layer = SubLayer(scope / "self_attn_norm", config);
  }
  if (with_cross_attention) {
    cross_attn = MultiHeadAttention(scope / "cross_attn", config);
    cross_attn_layer = SubLayer(scope / "cross_attn_norm", config);
  }
  if (with_feed_forward) {
    feed_forward = FeedForward(scope / "feed_forward", config);
    feed_forward_layer = SubLayer(scope / "feed_forward_norm", config);
  }
}

Tensor DecoderBlock::forward(const Tensor& input, const StackInput& in, const PositionEncoding& positions,
                             const Context& context) const {
  Tensor x = input;  // (T, C)
  const LayerCache* cache = in.cache ? &in.cache->self[static_cast<size_t>(number)] : nullptr;
  if (with_attention) {
    x = self_attn_layer.around(x, in.spans, context, [&](const Tensor& h) {
      return self_attn.self(h, {in.spans, in.spans, in.causal, cache}, positions, context);
    });
  }
  if (with_cross_attention) {
    const LayerCache* cross_cache = in.cache ? &in.cache->cross[static_cast<size_t>(number)] : nullptr;
    x = cross_attn_layer.around(x, in.spans, context, [&](const Tensor& h) {
      const Spans& queries = in.cache ? in.cache->cross_queries : in.spans;
      return cross_attn.cross(h, in.memory, {queries, in.memory_spans, false, cross_cache}, context);
    });
  }
  if (with_feed_forward) {
    x = feed_forward_layer.around(x, in.spans, context,
                                  [&](const Tensor& h) { return feed_forward.forward(h, in.spans, context); });
  }
  if (context.trace) context.trace->rows(path + ".output", x, in.spans);
  return x;
}

}  // namespace heed::nn
