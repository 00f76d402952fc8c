// What metrics over a list of sentences have in common: counts for each sentence, and a score from sums of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heed::train {

// One row of counts a sentence. A score of any choice of sentences is the score of the sum of their rows.
struct SentenceCounts {
  int64_t width = 0;
  std::vector<int64_t> values;  // sentences x width

  int64_t sentences() const { return width == 0 ? 0 : static_cast<int64_t>(values.size()) / width; }
  std::span<const int64_t> row(int64_t i) const {
    return std::span(values).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
  }
  std::vector<int64_t> sum() const {
    std::vector<int64_t> total(static_cast<size_t>(width));
    for (size_t i = 0; i < values.size(); ++i) total[i % total.size()] += values[i];
    return total;
  }
};

using ScoreOfCounts = std::function<double(std::span<const int64_t> sum)>;

// The lists must be of one length: an error names both.
void check_same_length(const char* metric, size_t hypotheses, size_t references);

}  // namespace heed::train
