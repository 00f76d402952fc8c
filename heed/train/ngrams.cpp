#include "heed/train/ngrams.h"

#include <algorithm>

namespace heed::train {
namespace {

struct Entry {
  uint64_t key = 0;    // number of the first n - 1 symbols, from the round before, and the last symbol
  uint32_t place = 0;  // in the hypothesis, or after it in the reference
};

// Takes each run of equal n-grams: counts what both sides have and keeps their places, numbered, for longer n-grams.
// What only one side has cannot be part of a longer match.
int64_t match_runs(std::span<const Entry> sorted, uint32_t split, std::vector<Entry>& kept) {
  int64_t matches = 0;
  kept.clear();
  uint64_t number = 0;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    int64_t ours = 0;
    for (end = begin; end < sorted.size() && sorted[end].key == sorted[begin].key; ++end) {
      ours += sorted[end].place < split;
    }
    const int64_t shared = std::min(ours, static_cast<int64_t>(end - begin) - ours);
    if (shared == 0) continue;
    matches += shared;
    for (size_t i = begin; i < end; ++i) kept.push_back({number, sorted[i].place});
    ++number;
  }
  return matches;
}

}  // namespace

std::vector<uint32_t> WordNumbers::of(const std::vector<std::string_view>& words) {
  std::vector<uint32_t> numbers;
  numbers.reserve(words.size());
  for (const std::string_view word : words) {
    numbers.push_back(numbers_.emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
  }
  return numbers;
}

// Sorting brings equal n-grams together: exact, where hashing would only be likely.
std::vector<NgramCount> count_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference,
                                     int64_t orders) {
  const size_t split = hypothesis.size(), all = split + reference.size();
  std::vector<Entry> kept(all), entries;
  for (size_t i = 0; i < all; ++i) kept[i].place = static_cast<uint32_t>(i);
  std::vector<NgramCount> counts(static_cast<size_t>(orders));
  for (size_t n = 1; n <= counts.size(); ++n) {
    entries.clear();
    for (const Entry& start : kept) {
      const size_t last = start.place + n - 1;
      if (last >= (start.place < split ? split : all)) continue;
      const uint32_t symbol = start.place < split ? hypothesis[last] : reference[last - split];
      entries.push_back({start.key << 32 | symbol, start.place});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    const auto total = [n](size_t size) { return size < n ? 0 : static_cast<int64_t>(size - n + 1); };
    counts[n - 1] = {total(hypothesis.size()), total(reference.size()),
                     match_runs(entries, static_cast<uint32_t>(split), kept)};
  }
  return counts;
}

}  // namespace heed::train
