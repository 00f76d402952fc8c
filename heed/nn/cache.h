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

// The pools and which of their rows are free. A row is free when all who hold it gave it back. Sequences get rows that
// follow each other, as far as there are: attention reads them all, and memory is fastest from end to end.
class CachePool {
 public:
  CachePool(int64_t layers, int64_t width) : width_(width), keys_(static_cast<size_t>(layers)), values_(keys_) {}
  // Those behind row `after`, which is held, where it is given. Grows where none are free.
  std::vector<int32_t> take(int64_t rows, int32_t after = -1);
  void share(std::span<const int32_t> rows);  // one more holds them
  void give(std::span<const int32_t> rows);
  std::vector<LayerCache> layers(const CacheRows& rows) const;
  int64_t capacity() const { return capacity_; }
  int64_t used() const { return capacity_ - free_; }

 private:
  static constexpr int64_t kRun = 16;  // rows that a sequence begins with
  void grow(int64_t capacity);
  void make_room(int64_t rows, int64_t after);
  bool is_free_behind(int64_t row) const;
  int64_t free_row(int64_t after);

  int64_t width_, capacity_ = 0, free_ = 0;
  std::vector<Tensor> keys_, values_;  // one a layer
  std::vector<int32_t> holders_;       // of each row
  std::vector<int64_t> free_in_run_, whole_runs_;
  int64_t single_ = 0;  // where the search for a free row of no whole run goes on
};

}  // namespace heed::nn
