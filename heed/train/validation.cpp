#include "heed/train/validation.h"

#include <algorithm>

#include "heed/train/pair_batch.h"

namespace heed::train {

double validation_loss(const models::EncoderDecoder& model, const data::PairStore& store, int64_t batch_tokens) {
  const NoGrad no_grad;
  double nll = 0;
  int64_t rows = 0;
  std::vector<uint32_t> batch;
  int64_t tokens = 0;
  const auto flush = [&] {
    if (batch.empty()) return;
    const models::PairBatch pairs = pair_batch(store, batch, model.config.tokens.start);
    const LossResult result = model.loss(pairs, {}, {});
    nll += result.nll;
    rows += result.rows;
    batch.clear();
    tokens = 0;
  };
  for (int64_t i = 0; i < store.size(); ++i) {
    const int64_t n = std::max(store.source_length(i), store.target_length(i));
    if (tokens + n > batch_tokens) flush();
    batch.push_back(static_cast<uint32_t>(i));
    tokens += n;
  }
  flush();
  return rows > 0 ? nll / static_cast<double>(rows) : 0;
}

}  // namespace heed::train
