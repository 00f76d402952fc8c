// The two block types. An encoder block attends to its own sequence (a decoder-only model is a stack of them
// with a causal mask); a decoder block also to the encoder's output.
#pragma once

#include <functional>

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

// (T, C) to (T, C), in place of what a sub-layer computes: norm, dropout and residual stay around it. h is what it reads,
// not in.x. Its parameters are its own; a run that computes blocks twice calls it twice.
using SubLayerFunction = std::function<Tensor(const Tensor& h, const StackInput& in, const Context& context)>;

// What both types are made of.
struct Block {
  MultiHeadAttention self_attn;
  FeedForward feed_forward;
  SubLayer self_attn_layer, feed_forward_layer;
  SubLayerFunction instead_of_self_attn, instead_of_feed_forward;  // empty: the block's own
  bool with_attention = true, with_feed_forward = true;
  std::string path;
  int64_t number = 0;  // in its stack

 protected:
  Block(const Scope& scope, const StackConfig& config);
  void declare_self_attention(const Scope& scope, const StackConfig& config);
  void declare_feed_forward(const Scope& scope, const StackConfig& config);
  Tensor attend_to_itself(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                          const Context& context) const;
  Tensor feed(const Tensor& x, const StackInput& in,
              const Context& context) const;  // the last one: its output is traced
};

struct EncoderBlock : Block {
  EncoderBlock(const Scope& scope, const StackConfig& config);
  Tensor forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                 const Context& context) const;
};

struct DecoderBlock : Block {
  MultiHeadAttention cross_attn;
  SubLayer cross_attn_layer;
  SubLayerFunction instead_of_cross_attn;
  bool with_cross_attention = true;

  DecoderBlock(const Scope& scope, const StackConfig& config);
  Tensor forward(const Tensor& x, const StackInput& in, const PositionEncoding& positions,
                 const Context& context) const;

 private:
  Tensor attend_to_memory(const Tensor& x, const StackInput& in, const Context& context) const;
};

}  // namespace heed::nn
