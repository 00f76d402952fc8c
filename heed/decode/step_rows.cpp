#include "heed/decode/step_rows.h"

#include <limits>
#include <utility>

namespace heed::decode {

void StepRows::add(Rows& past, std::span<const int32_t> tokens, bool wanted) {
  const int64_t n = static_cast<int64_t>(tokens.size());
  const Rows fresh = pool_.take(n, past.empty() ? -1 : past.back());
  lengths_.push_back(n);
  positions_.push_back(static_cast<int64_t>(past.size()));
  append(ids_, tokens);
  append(past, fresh);
  append(rows_.added, fresh);
  append(seen_rows_, past);
  seen_.push_back(static_cast<int64_t>(past.size()));
  if (wanted) last_.push_back(static_cast<int32_t>(ids_.size()) - 1);
}

models::TokenBatch StepRows::batch() { return {ids_, Spans::from_positions(lengths_, positions_)}; }

std::vector<nn::LayerCache> StepRows::layers() {
  rows_.seen = Spans(seen_);
  rows_.where = std::make_shared<const Rows>(std::move(seen_rows_));
  return pool_.layers(rows_);
}

Tensor StepRows::last_of_each(const Tensor& hidden) const {
  return static_cast<int64_t>(last_.size()) < hidden.rows() ? select_rows(hidden, last_) : hidden;
}

nn::CachePool pool_for(const nn::StackConfig& stack) { return {stack.layers, stack.key_heads() * stack.head_size()}; }

std::vector<Rows> branch_rows(nn::CachePool& pool, const std::vector<Rows>& before, std::span<const int64_t> parents) {
  std::vector<Rows> after;
  for (const int64_t parent : parents) {
    after.push_back(before[static_cast<size_t>(parent)]);
    pool.share(after.back());
  }
  for (const Rows& rows : before) pool.give(rows);
  return after;
}

int64_t longest_sequence(const nn::StackConfig& stack) {
  const bool ends = stack.positions.kind == nn::PositionKind::kLearned;
  return ends ? stack.positions.max_length : std::numeric_limits<int64_t>::max();
}

}  // namespace heed::decode
