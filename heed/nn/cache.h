// Keys and values that decoding keeps, as rows of a pool for each layer. A sequence is a list of row numbers: hypotheses
// share what they have in common, and reordering them moves no keys.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "heed/tensor/ops.h"

namespace heed::nn {

// What a step reads and writes, the same rows in every layer.
struct CacheRows {
  Spans seen;                                         // keys that each sequence of the step sees
  std::shared_ptr<const std::vector<int32_t>> where;  // their rows in the pool, sequence after sequence
  std::vector<int32_t> added;                         // where the keys and values of the step's own tokens go
};

// One layer of it.
struct LayerCache {
  Tensor keys, values;  // (capacity, H_kv D)
  const CacheRows* rows = nullptr;

  void write(const Tensor& k, const Tensor& v) const;  // (added, H_kv D) each
};

struct StepCache {
  std::vector<LayerCache> self, cross;  // one a layer; cross is empty in a stack that has none
  Spans cross_queries;                  // the step's tokens by the memory that they look at
};

// The pools and which of their rows are free. A row is free when all who hold it gave it back.
class CachePool {
 public:
  CachePool(int64_t layers, int64_t width) : width_(width), keys_(static_cast<size_t>(layers)), values_(keys_) {}
  std::vector<int32_t> take(int64_t rows);    // grows where none are free
  void share(std::span<const int32_t> rows);  // one more holds them
  void give(std::span<const int32_t> rows);
  std::vector<LayerCache> layers(const CacheRows& rows) const;
  int64_t capacity() const { return capacity_; }
  int64_t used() const { return capacity_ - static_cast<int64_t>(free_.size()); }

 private:
  void grow(int64_t capacity);

  int64_t width_, capacity_ = 0;
  std::vector<Tensor> keys_, values_;  // one a layer
  std::vector<int32_t> free_;          // the next one last
  std::vector<int32_t> holders_;       // of each row
};

}  // namespace heed::nn
