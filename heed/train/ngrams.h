// How many n-grams two sequences have, and how many they share: what BLEU and chrF count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed::train {

struct NgramCount {
  int64_t hypothesis = 0, reference = 0;
  int64_t matches = 0;  // each n-gram as often as it is in both
};

// For n = 1 to `orders`. Equal numbers are equal symbols.
std::vector<NgramCount> count_ngrams(std::span<const uint32_t> hypothesis, std::span<const uint32_t> reference,
                                     int64_t orders);

}  // namespace heed::train
