#include "heed/text/merges.h"

#include <cstddef>
#include <queue>
#include <tuple>

namespace heed::text {
namespace {

constexpr size_t kNone = SIZE_MAX;

uint64_t key_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// A pair that may be merged; void once one of its sides was merged elsewhere.
struct Candidate {
  int32_t rank;
  size_t at;  // of its left side
  int32_t left, right, merged;
  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

// The pieces as a list with holes: what is merged stands at its left side, the right side is skipped.
struct Pieces {
  std::vector<int32_t> id;
  std::vector<size_t> next, before;
  explicit Pieces(const std::vector<int32_t>& ids) : id(ids), next(ids.size()), before(ids.size()) {
    for (size_t i = 0; i < ids.size(); ++i) {
      next[i] = i + 1 < ids.size() ? i + 1 : kNone;
      before[i] = i > 0 ? i - 1 : kNone;
    }
  }
  bool holds(const Candidate& c) const {
    return id[c.at] == c.left && next[c.at] != kNone && id[next[c.at]] == c.right;
  }
  void merge(const Candidate& c) {
    const size_t right = next[c.at];
    id[c.at] = c.merged;
    id[right] = -1;
    next[c.at] = next[right];
    if (next[c.at] != kNone) before[next[c.at]] = c.at;
  }
};

}  // namespace

void Merges::add(int32_t left, int32_t right, int32_t merged, int32_t rank) {
  table_.insert_or_assign(key_of(left, right), Merge{rank, merged});
  ++added_;
}

const Merges::Merge* Merges::find(int32_t left, int32_t right) const {
  const auto found = table_.find(key_of(left, right));
  return found == table_.end() ? nullptr : &found->second;
}

std::vector<int32_t> Merges::apply(const std::vector<int32_t>& ids, const std::function<bool()>& passed_over) const {
  if (ids.size() < 2) return ids;
  Pieces pieces(ids);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](size_t at) {
    if (at == kNone || pieces.next[at] == kNone) return;
    const int32_t left = pieces.id[at], right = pieces.id[pieces.next[at]];
    if (const Merge* merge = find(left, right)) queue.push({merge->rank, at, left, right, merge->merged});
  };
  for (size_t at = 0; at < ids.size(); ++at) offer(at);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (!pieces.holds(best) || (passed_over && passed_over())) continue;
    pieces.merge(best);
    offer(pieces.before[best.at]);
    offer(best.at);
  }
  std::vector<int32_t> merged;
  for (size_t at = 0; at != kNone; at = pieces.next[at]) merged.push_back(pieces.id[at]);
  return merged;
}

}  // namespace heed::text
