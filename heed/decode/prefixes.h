// Sequences that were computed before, with the rows of their keys: what a new one has in common with them at its start
// is not computed again.
#pragma once

#include <list>

#include "heed/decode/step_rows.h"

namespace heed::decode {

// How many tokens two sequences start with in common.
int64_t common_start(std::span<const int32_t> a, std::span<const int32_t> b);

class Prefixes {
 public:
  // Holds `most_rows` at most; those that nobody asked for longest go first.
  Prefixes(nn::CachePool& pool, int64_t most_rows) : pool_(pool), most_(most_rows) {}

  // Takes over `rows`, which are those of the first tokens. Of more than it may hold the first are kept.
  void keep(std::span<const int32_t> tokens, Rows rows);
  // Rows of the longest start that is known; they stay the store's.
  std::span<const int32_t> find(std::span<const int32_t> tokens);
  int64_t rows() const { return held_; }

 private:
  struct Sequence {
    Rows tokens, rows;  // as many of each
  };
  void forget(std::list<Sequence>::iterator it);

  nn::CachePool& pool_;
  int64_t most_, held_ = 0;
  std::list<Sequence> known_;  // the one that was asked for last first
};

}  // namespace heed::decode
