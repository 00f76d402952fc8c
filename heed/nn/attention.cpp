#include "heed/nn/attention.h"

#include "heed/base/error.h"
#include "heed/nn/trace.h"

namespace heed::nn {

MultiHeadAttention::MultiHeadAttention(const Scope& scope, const StackConfig& config)
    : heads(config.heads),
      kv_heads(config.key_heads()),
      head_size(config.head_size()),
      weight_dropout(config.dropout.attention),
      path(scope.path()),
      place(place_of(scope.path())) {
  const int64_t q_size = heads * head_size, kv_size = kv_heads * head_size;
  in = linear_group(scope, config.d_model, {{"q_proj", q_size}, {"k_proj", kv_size}, {"v_proj", kv_size}},
                    linear_options(config, config.biases.attention_in));
  out = Linear(scope / "out_proj", q_size, config.d_model, linear_options(config, config.biases.attention_out));
}

Tensor MultiHeadAttention::self(const Tensor& x, const AttentionSpans& spans, const PositionEncoding& positions,
                                const Context& context) const {
  if (context.trace) context.trace->rows(path + ".input", x, spans.queries);
  const int64_t q_size = heads * head_size, kv_size = kv_heads * head_size;
  const Tensor qkv =
      adapted(linear_side_by_side(x, in), x, in_adapters, spans.queries, context);  // (T, (H + 2 H_kv) D)
  Tensor q = columns(qkv, 0, q_size);                                               // (T, H D)
  Tensor k = columns(qkv, q_size, q_size + kv_size);                                // (T, H_kv D)
  Tensor v = columns(qkv, q_size + kv_size, q_size + 2 * kv_size);                  // (T, H_kv D)
  q = positions.rotate(q, heads, spans.queries);
  k = positions.rotate(k, kv_heads, spans.queries);
  if (spans.cache) {
    spans.cache->write(k, v);
    k = spans.cache->keys, v = spans.cache->values;
  }
  AttentionArgs args = arguments(spans, context);
  positions.bias_scores(args);
  return attend(q, k, v, args, context);
}

Tensor MultiHeadAttention::cross(const Tensor& x, const Tensor& memory, const AttentionSpans& spans,
                                 const Context& context) const {
  const Tensor q = linear(x, in[0]);  // (T, H D)
  const AttentionArgs args = arguments(spans, context);
  if (spans.cache) return attend(q, spans.cache->keys, spans.cache->values, args, context);
  const Tensor kv = linear_side_by_side(memory, std::span(in).subspan(1));  // (T', 2 H_kv D)
  const int64_t kv_size = kv_heads * head_size;
  return attend(q, columns(kv, 0, kv_size), columns(kv, kv_size, 2 * kv_size), args, context);
}

void MultiHeadAttention::remember(const Tensor& memory, const LayerCache& cache) const {
  const Tensor kv = linear_side_by_side(memory, std::span(in).subspan(1));  // (T', 2 H_kv D)
  const int64_t kv_size = kv_heads * head_size;
  cache.write(columns(kv, 0, kv_size), columns(kv, kv_size, 2 * kv_size));
}

AttentionArgs MultiHeadAttention::arguments(const AttentionSpans& spans, const Context& context) const {
  AttentionArgs args;
  args.heads = heads;
  args.kv_heads = kv_heads;
  args.q_spans = spans.queries;
  args.k_spans = spans.cache ? spans.cache->rows->seen : spans.keys;
  if (spans.cache) args.k_rows = spans.cache->rows->where;
  args.causal = spans.causal;
  args.dropout = context.dropout(weight_dropout, place);
  return args;
}

Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArgs& args,
                                  const Context& context) const {
  Tensor merged = attention(q, k, v, args);  // (T, H D), never (T, T')
  if (!gains.empty()) {
    if (static_cast<int64_t>(gains.size()) != heads)
      fail("[attention] {} gains: expected {}, one a head", gains.size(), heads);
    merged = scale_heads(merged, gains);
  }
  const Tensor y = out(merged, args.q_spans, context);  // (T, C)
  if (context.trace) context.trace->attention(path, {q, k, v, merged, y, args});
  return y;
}

}  // namespace heed::nn
