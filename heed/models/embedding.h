// Ids to features: the table's rows (scaled by sqrt(d_model) where the config says so) plus positions, with dropout.
#pragma once

#include <cmath>

#include "heed/base/error.h"
#include "heed/models/batch.h"
#include "heed/models/config.h"
#include "heed/nn/context.h"
#include "heed/nn/position_encoding.h"
#include "heed/nn/trace.h"

namespace heed::models {

struct TokenEmbedding {
  Tensor table;  // (V, C)
  float scale = 1, dropout = 0;
  uint64_t place = 0;

  TokenEmbedding() = default;
  TokenEmbedding(const nn::Scope& scope, int64_t vocabulary, const nn::StackConfig& stack, bool scaled)
      : scale(scaled ? std::sqrt(static_cast<float>(stack.d_model)) : 1.0f),
        dropout(stack.dropout.embedding),
        place(nn::place_of(scope.path())) {
    const float deviation = scaled ? 1.0f / std::sqrt(static_cast<float>(stack.d_model)) : 0.02f;
    table = scope.declare("weight", {vocabulary, stack.d_model}, nn::Init::normal(deviation));
  }

  // `side` tells the source's dropout from the target's where they share the table.
  Tensor operator()(const TokenBatch& batch, const nn::PositionEncoding& positions, const nn::Context& context,
                    uint64_t side = 0) const {
    if (static_cast<int64_t>(batch.ids.size()) != batch.spans.tokens())
      fail("[embedding] {} ids for spans of {} tokens", batch.ids.size(), batch.spans.tokens());
    EmbeddingArgs args{scale, positions.table(batch.spans.positions_end()), batch.spans.positions()};
    const Tensor x = embedding(table, batch.ids, args);  // (T, C)
    return heed::dropout(x, batch.spans, context.dropout(dropout, place + side));
  }
};

}  // namespace heed::models
