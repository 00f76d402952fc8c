#include "heed/models/parameter_count.h"

namespace heed::models {
namespace {

int64_t linear_size(int64_t in, int64_t out, bool bias) { return in * out + (bias ? out : 0); }

int64_t norm_size(const nn::StackConfig& c) {
  if (c.norm == nn::NormKind::kNone) return 0;
  return c.norm == nn::NormKind::kLayer && c.norm_bias ? 2 * c.d_model : c.d_model;
}

int64_t attention_size(const nn::StackConfig& c) {
  const int64_t q = c.heads * c.head_size(), kv = c.key_heads() * c.head_size();
  const bool in = c.bias && c.biases.attention_in, out = c.bias && c.biases.attention_out;
  return linear_size(c.d_model, q, in) + 2 * linear_size(c.d_model, kv, in) + linear_size(q, c.d_model, out);
}

int64_t position_size(const nn::StackConfig& c) {
  if (c.positions.kind == nn::PositionKind::kLearned) return c.positions.max_length * c.d_model;
  return c.positions.kind == nn::PositionKind::kT5 ? c.positions.t5_buckets * c.heads : 0;
}

void add_stack(ParameterParts& parts, const nn::StackConfig& c, bool cross) {
  const ParameterParts block = block_parts(c, cross);
  parts.positions += position_size(c);
  parts.self_attention += c.layers * block.self_attention;
  parts.cross_attention += c.layers * block.cross_attention;
  parts.feed_forward += c.layers * block.feed_forward;
  parts.norms += c.layers * block.norms + (c.final_norm ? norm_size(c) : 0);
}

}  // namespace

ParameterParts block_parts(const nn::StackConfig& c, bool in_decoder) {
  const bool cross = in_decoder && c.with_cross_attention;
  ParameterParts parts;
  if (c.with_attention) parts.self_attention = attention_size(c);
  if (cross) parts.cross_attention = attention_size(c);
  if (c.with_feed_forward) {
    const bool bias = c.bias && c.biases.feed_forward;
    const int64_t up = linear_size(c.d_model, c.d_ff, bias);
    parts.feed_forward = (c.gated ? 2 : 1) * up + linear_size(c.d_ff, c.d_model, bias);
  }
  parts.norms = norm_size(c) * (int64_t{c.with_attention} + int64_t{cross} + int64_t{c.with_feed_forward});
  return parts;
}

ParameterParts parameter_parts(const ModelConfig& m) {
  m.check();
  ParameterParts parts;
  const bool both = m.family == Family::kEncoderDecoder;
  if (m.family != Family::kDecoder) add_stack(parts, m.encoder, false);
  if (m.family != Family::kEncoder) add_stack(parts, m.decoder, both);
  const int64_t C = m.main_stack().d_model;
  parts.embedding = m.vocabulary * C;
  if (both && m.vocabulary > 0 && !m.share_source) parts.embedding += m.source_vocabulary * C;
  if (m.family == Family::kEncoder) {
    if (m.image_size > 0) parts.embedding += linear_size(m.patch_size * m.patch_size * m.channels, C, true) + C;
    if (m.classes > 0) parts.output += linear_size(C, m.classes, true);
    return parts;
  }
  if (!m.tie_embeddings) parts.output += m.vocabulary * C;
  if (m.output_bias) parts.output += m.vocabulary;
  return parts;
}

}  // namespace heed::models
