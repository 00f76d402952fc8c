#include "heed/decode/prefixes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heed::decode {

int64_t common_start(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

void Prefixes::keep(std::span<const int32_t> tokens, Rows rows) {
  if (static_cast<int64_t>(rows.size()) > most_) {
    pool_.give(std::span<const int32_t>(rows).subspan(static_cast<size_t>(most_)));
    rows.resize(static_cast<size_t>(most_));
  }
  Sequence sequence{{tokens.begin(), tokens.begin() + static_cast<int64_t>(rows.size())}, std::move(rows)};
  const int64_t n = static_cast<int64_t>(sequence.rows.size());
  for (auto it = known_.begin(); it != known_.end();) {
    const auto next = std::next(it);
    // What the new one starts with needs no place of its own.
    if (common_start(it->tokens, sequence.tokens) == static_cast<int64_t>(it->tokens.size())) forget(it);
    it = next;
  }
  if (n == 0) return;
  while (held_ + n > most_) forget(std::prev(known_.end()));
  known_.push_front(std::move(sequence));
  held_ += n;
}

std::span<const int32_t> Prefixes::find(std::span<const int32_t> tokens) {
  auto best = known_.end();
  int64_t longest = 0;
  for (auto it = known_.begin(); it != known_.end(); ++it) {
    const int64_t common = common_start(it->tokens, tokens);
    if (common > longest) longest = common, best = it;
  }
  if (best == known_.end()) return {};
  known_.splice(known_.begin(), known_, best);
  return std::span<const int32_t>(best->rows).first(static_cast<size_t>(longest));
}

void Prefixes::forget(std::list<Sequence>::iterator it) {
  held_ -= static_cast<int64_t>(it->rows.size());
  pool_.give(it->rows);
  known_.erase(it);
}

}  // namespace heed::decode
