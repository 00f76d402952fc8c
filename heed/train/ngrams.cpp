#include "heed/train/ngrams.h"

#include <algorithm>

namespace heed::train {

// An n-gram is the number of its first n - 1 symbols, from the round before, and its last symbol. Sorting all of them
// brings equal ones together and gives them their numbers for the next round: exact, where hashing would only be likely.
std::vector<NgramCount> count_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference,
                                     int64_t orders) {
  struct Entry {
    uint64_t key;
    uint32_t place;  // in the hypothesis, or after it in the reference
  };
  const auto split = static_cast<uint32_t>(hypothesis.size());
  std::vector<uint32_t> numbers(hypothesis.size() + reference.size());
  std::vector<Entry> entries;
  entries.reserve(numbers.size());
  std::vector<NgramCount> counts(static_cast<size_t>(orders));
  for (size_t n = 1; n <= counts.size(); ++n) {
    NgramCount& count = counts[n - 1];
    entries.clear();
    for (size_t i = 0; i + n <= hypothesis.size(); ++i) {
      entries.push_back({uint64_t{numbers[i]} << 32 | hypothesis[i + n - 1], static_cast<uint32_t>(i)});
    }
    count.hypothesis = static_cast<int64_t>(entries.size());
    for (size_t i = 0; i + n <= reference.size(); ++i) {
      entries.push_back({uint64_t{numbers[split + i]} << 32 | reference[i + n - 1], static_cast<uint32_t>(split + i)});
    }
    count.reference = static_cast<int64_t>(entries.size()) - count.hypothesis;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    uint32_t number = 0;
    for (size_t begin = 0, end = 0; begin < entries.size(); begin = end, ++number) {
      int64_t here = 0;
      for (end = begin; end < entries.size() && entries[end].key == entries[begin].key; ++end) {
        here += entries[end].place < split;
        numbers[entries[end].place] = number;
      }
      count.matches += std::min(here, static_cast<int64_t>(end - begin) - here);
    }
  }
  return counts;
}

}  // namespace heed::train
