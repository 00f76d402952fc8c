#include "heed/models/arithmetic.h"

namespace heed::models {
namespace {

// Scores and weighted values: two products forward, four backward.
double attention_flops(const nn::StackConfig& c, const Spans& queries, const Spans& keys, bool causal) {
  double pairs = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const double n_q = static_cast<double>(queries.length(s)), n_k = static_cast<double>(keys.length(s));
    pairs += causal ? n_q * (n_q + 1) / 2 : n_q * n_k;
  }
  return 6 * 2 * pairs * static_cast<double>(c.heads * c.head_size());
}

}  // namespace

double stack_step_flops(const nn::StackConfig& c, const Spans& spans, bool causal) {
  const double T = static_cast<double>(spans.tokens()), C = static_cast<double>(c.d_model);
  const double q = static_cast<double>(c.heads * c.head_size()),
               kv = static_cast<double>(c.key_heads() * c.head_size());
  const double feed_forward = (c.gated ? 3 : 2) * linear_step_flops(T, C, static_cast<double>(c.d_ff));
  const double projections = linear_step_flops(T, C, q + 2 * kv) + linear_step_flops(T, q, C);
  return static_cast<double>(c.layers) * (projections + feed_forward + attention_flops(c, spans, spans, causal));
}

double cross_step_flops(const nn::StackConfig& c, const Spans& spans, const Spans& memory) {
  const double T = static_cast<double>(spans.tokens()), M = static_cast<double>(memory.tokens());
  const double C = static_cast<double>(c.d_model);
  const double q = static_cast<double>(c.heads * c.head_size()),
               kv = static_cast<double>(c.key_heads() * c.head_size());
  const double projections = 2 * linear_step_flops(T, C, q) + linear_step_flops(M, C, 2 * kv);
  return static_cast<double>(c.layers) * (projections + attention_flops(c, spans, memory, false));
}

}  // namespace heed::models
