// The lines that a tokenizer learns from: an even sample, in the order of the corpus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/base/random.h"

namespace heed::text {

class LineSample {
 public:
  LineSample(int64_t limit, uint64_t seed) : limit_(limit), random_(seed) {}
  void add(std::string_view line);
  int64_t seen() const { return seen_; }
  std::vector<std::string> take() &&;

 private:
  struct Kept {
    int64_t number;
    std::string line;
  };
  int64_t limit_, seen_ = 0;
  Random random_;
  std::vector<Kept> kept_;
};

// A line as SentencePiece can learn from it: valid text, without the characters that it keeps for itself, and cut at
// blanks where it is longer than SentencePiece reads.
void append_training_lines(std::vector<std::string>& lines, std::string_view line);

}  // namespace heed::text
