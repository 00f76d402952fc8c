// Byte-pair encoding's merges: which two neighbouring pieces become one, and in which order.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace heed::text {

class Merges {
 public:
  // Later ones are weaker; of equal pairs the last counts, as in Hugging Face's library.
  void add(int32_t left, int32_t right, int32_t merged) { add(left, right, merged, added_); }
  void add(int32_t left, int32_t right, int32_t merged, int32_t rank);  // the lower rank is stronger
  int64_t size() const { return static_cast<int64_t>(table_.size()); }
  // The strongest pair first, the leftmost of equal ones, until none is left. O(n log n). A merge that is passed over
  // comes up again only if its neighbourhood changes.
  std::vector<int32_t> apply(const std::vector<int32_t>& pieces, const std::function<bool()>& passed_over = {}) const;

 private:
  struct Merge {
    int32_t rank, merged;
  };
  const Merge* find(int32_t left, int32_t right) const;
  std::unordered_map<uint64_t, Merge> table_;
  int32_t added_ = 0;
};

}  // namespace heed::text
