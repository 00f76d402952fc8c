// MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O,  head_i = Attention(Q W_Q^i, K W_K^i, V W_V^i)
#pragma once

#include "heed/nn/cache.h"
#include "heed/nn/context.h"
#include "heed/nn/linear.h"
#include "heed/nn/position_encoding.h"

namespace heed::nn {

// Whose keys a query sees: those of its own sequence in x, or those of another one.
struct AttentionSpans {
  Spans queries, keys;
  bool causal = false;
  const LayerCache* cache = nullptr;  // keys of earlier steps; `keys` is not read then
};

struct MultiHeadAttention {
  std::vector<LinearWeight> in;      // query, key, value
  std::vector<LowRank> in_adapters;  // of self-attention, for columns of the three side by side
  Linear out;
  int64_t heads = 1, kv_heads = 1, head_size = 0;
  float weight_dropout = 0;
  std::vector<float> gains;  // empty, or one a head: 0 silences it
  std::string path;
  uint64_t place = 0;

  MultiHeadAttention() = default;
  MultiHeadAttention(const Scope& scope, const StackConfig& config);

  Tensor self(const Tensor& x, const AttentionSpans& spans, const PositionEncoding& positions,
              const Context& context) const;
  // memory may be empty where a cache has remembered it.
  Tensor cross(const Tensor& x, const Tensor& memory, const AttentionSpans& spans, const Context& context) const;

  // Puts the keys and values of `memory` into the cache's new rows, for later calls of cross.
  void remember(const Tensor& memory, const LayerCache& cache) const;

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArgs& args,
                const Context& context) const;
  AttentionArgs arguments(const AttentionSpans& spans, const Context& context) const;
};

}  // namespace heed::nn
