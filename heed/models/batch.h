// What a model reads: ids or patches of a ragged batch.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor/spans.h"
#include "heed/tensor/tensor.h"

namespace heed::models {

struct TokenBatch {
  std::vector<int32_t> ids;  // (T)
  Spans spans;
};

// Sources and the targets shifted right beside the targets themselves.
struct PairBatch {
  TokenBatch source, target;
  std::vector<int32_t> labels;  // (T of target); < 0 does not count
};

struct ImageBatch {
  Tensor patches;               // (B n, patch * patch * channels)
  std::vector<int32_t> labels;  // (B)
  Spans spans;                  // n + 1 rows an image: the class row is first
  std::vector<int32_t> class_rows;
};

}  // namespace heed::models
