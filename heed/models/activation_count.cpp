#include "heed/models/activation_count.h"

namespace heed::models {
namespace {

// Of a token. Every sub-layer has its norm's output, the branch's and the sum.
int64_t of_block(const nn::StackConfig& c, bool cross) {
  const int64_t C = c.d_model, q = c.heads * c.head_size(), kv = c.key_heads() * c.head_size();
  const int64_t projected = q + 2 * kv, merged = q;
  const int64_t rotated = c.positions.kind == nn::PositionKind::kRotary ? q + kv : 0;
  int64_t kept = 0;
  if (c.with_attention) kept += 3 * C + projected + rotated + merged;
  if (cross && c.with_cross_attention) kept += 3 * C + projected + merged;
  // ReLU tells from its output what came in; a gate has two products, and dropout behind it an output of its own.
  const int64_t plain = c.activation == kernels::Activation::kRelu ? 1 : 2, gated = c.dropout.activation > 0 ? 4 : 3;
  if (c.with_feed_forward) kept += 3 * C + (c.gated ? gated : plain) * c.d_ff;
  return kept;
}

}  // namespace

int64_t kept_activations(const ModelConfig& m, int64_t tokens) {
  const bool both = m.family == Family::kEncoderDecoder;
  int64_t of_token = 0;
  if (m.family != Family::kDecoder) of_token += m.encoder.layers * of_block(m.encoder, false);
  if (m.family != Family::kEncoder) of_token += m.decoder.layers * of_block(m.decoder, both);
  return tokens * of_token;
}

}  // namespace heed::models
