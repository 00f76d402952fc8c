// The bookkeeping of one step over cached keys: which tokens are new, which rows they fill, which rows they see.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/models/batch.h"
#include "heed/models/config.h"
#include "heed/nn/cache.h"

namespace heed::decode {

using Rows = std::vector<int32_t>;

inline void append(Rows& to, std::span<const int32_t> from) { to.insert(to.end(), from.begin(), from.end()); }

// Sequences in the order of add(); the cache's layers are asked for once all are there.
class StepRows {
 public:
  explicit StepRows(nn::CachePool& pool) : pool_(pool) {}

  // The new tokens of a sequence and the rows of all before them, which the new ones are added to.
  // Without `wanted` nobody asks what comes after them.
  void add(Rows& past, std::span<const int32_t> tokens, bool wanted = true);
  // What the model reads, and the cache that goes with it.
  models::TokenBatch batch();
  std::vector<nn::LayerCache> layers();
  // The rows of `hidden` that are the last of a sequence and wanted.
  Tensor last_of_each(const Tensor& hidden) const;
  int64_t tokens() const { return static_cast<int64_t>(ids_.size()); }

 private:
  nn::CachePool& pool_;
  nn::CacheRows rows_;
  Rows ids_, seen_rows_, last_;
  std::vector<int64_t> lengths_, positions_, seen_;
};

nn::CachePool pool_for(const nn::StackConfig& stack);

// Each branch after a step goes on from one of those before: its rows are held once more, and what nobody goes on with
// is free again.
std::vector<Rows> branch_rows(nn::CachePool& pool, const std::vector<Rows>& before, std::span<const int64_t> parents);

// Tokens that a stack has positions for: a learned table ends.
int64_t longest_sequence(const nn::StackConfig& stack);

}  // namespace heed::decode
