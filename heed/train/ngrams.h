// How many n-grams two sequences have, and how many they share: what BLEU and chrF count.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heed::train {

struct NgramCount {
  int64_t hypothesis = 0, reference = 0;
  int64_t matches = 0;  // each n-gram as often as it is in both
};

// One number for every different word of a few lines, which outlive it.
class WordNumbers {
 public:
  std::vector<uint32_t> of(const std::vector<std::string_view>& words);

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

// For n = 1 to `orders`. Equal numbers are equal symbols.
std::vector<NgramCount> count_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference,
                                     int64_t orders);

}  // namespace heed::train
