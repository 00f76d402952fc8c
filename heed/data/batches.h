// Which sentences make each batch of an epoch: a pure function of (seed, epoch), so that a place in the data is two
// numbers and a resumed run sees what an unbroken one would have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/data/pair_store.h"

namespace heed::data {

struct BatchConfig {
  int64_t tokens = 4096;     // of a batch at most, with eos: the larger of its two sides
  int64_t sentences = 4096;  // of a batch at most
  uint64_t seed = 1;
};

// A seeded permutation of the sentences is cut into windows; a window is sorted by length and cut into batches, and
// the batches of the whole epoch are shuffled. A sentence longer than a batch is a batch of its own.
class EpochBatches {
 public:
  EpochBatches(const PairStore& store, const BatchConfig& config, int64_t epoch);
  int64_t size() const { return static_cast<int64_t>(begins_.size()) - 1; }
  std::span<const uint32_t> batch(int64_t i) const;  // numbers of sentences in the store

 private:
  std::vector<uint32_t> sentences_;  // batch after batch
  std::vector<int64_t> begins_;
};

}  // namespace heed::data
