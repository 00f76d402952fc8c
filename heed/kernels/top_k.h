// The k largest of each row of logits with their log-probabilities: what a search goes on with.
#pragma once

#include <cstdint>

namespace heed::kernels {

struct TopK {
  int64_t T, C, k;
  const float* x;    // (T, C)
  int32_t* ids;      // (T, k) the largest first, of equals the one of smaller id; -1 where a row has no more numbers
  float* log_probs;  // (T, k) log_softmax of the row at each; -inf beside an id of -1
};
void top_k(const TopK& t);
void top_k_reference(const TopK& t);

}  // namespace heed::kernels
