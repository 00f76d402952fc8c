// GPT-2's byte pairs, learned: words by its pattern, then again and again the most frequent pair of neighbours becomes one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heed::text {

// Words and how often they stand in a text.
using WordCounts = std::unordered_map<std::string, int64_t>;
void count_words(WordCounts& counts, std::string_view text);
// The same of many texts at once, on all threads.
void count_words(WordCounts& counts, const std::vector<std::string>& texts);

// Pieces by id: the letters of the bytes in the order of GPT-2's alphabet, then what each merge made. Of pairs that are
// equally frequent the one with the smaller ids is first, so that the same words give the same pieces. A pair that stands
// only once is not merged: there may be fewer merges than asked for.
struct LearnedPairs {
  std::vector<std::string> pieces;
  std::vector<std::pair<int32_t, int32_t>> merges;
};
LearnedPairs learn_byte_pairs(const WordCounts& counts, int64_t merges);

}  // namespace heed::text
