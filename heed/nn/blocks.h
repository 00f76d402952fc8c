// The two block types. An encoder block attends to its own sequence (a decoder-only model is a stack of them
// with a causal mask); a decoder block also to the encoder's output.
#pragma once

#include "heed/nn/attention.h"
#include "heed/nn/feed_forward.h"
#include "heed/nn/sublayer.h"

namespace heed::nn {

// Which sequences a pass is over.
struct StackInput {
  Tensor x;     // (T, C)
  Spans spans;  // of x
  bool causal = false;
  Tensor memory = {};  // (T', C) the encoder's output, for decoder blocks
  Spans memory_spans = {};
  // Decoding: what earlier steps left behind. x holds the new tokens alone, spans their positions.
  const StepCache* cache = nullptr;
};

struct EncoderBlock {
  MultiHeadAttention self_attn;
  FeedForward feed_forward;
  SubLayer self_attn_layer, feed_forward_layer;
  bool with_attention = true, with_feed_forward = true;
  std::string path;
  int64_t number = 0;  // in its stack

  EncoderBlock(const Scope& scope, const StackConfig& config);
  Tensor forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                 const Context& context) const;
};

struct DecoderBlock {
  MultiHeadAttention self_attn, cross_attn;
  FeedForward feed_forward;
  SubLayer self_attn_layer, cross_attn_layer, feed_forward_layer;
  bool with_attention = true, with_cross_attention = true, with_feed_forward = true;
  std::string path;
  int64_t number = 0;

  DecoderBlock(const Scope& scope, const StackConfig& config);
  Tensor forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                 const Context& context) const;
};

}  // namespace heed::nn
