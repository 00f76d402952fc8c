// Sentence pairs from two lists of files or from TSV, checked line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/lines.h"

namespace heed::data {

enum class BadLines { kSkip, kRefuse };

struct CorpusConfig {
  std::vector<std::string> src, tgt;  // as many lines on both sides, or an error with both counts
  std::vector<std::string> tsv;       // instead of the two: source<TAB>target; further columns are not read
  BadLines bad_lines = BadLines::kSkip;
  int64_t max_bytes = 100'000;  // of one line: what is longer is no sentence
};

// What was left out, with the first places of each kind for the message: "train.en:17".
struct BadLineCount {
  int64_t count = 0;
  std::vector<std::string> first;  // at most 3
};
void count_bad_line(BadLineCount& kind, std::string place);
std::string describe(const BadLineCount& bad, std::string_view what);  // "1,200 empty (train.en:17, train.ko:40, ...)"
struct CorpusReport {
  int64_t pairs = 0;                               // read and good
  BadLineCount empty, too_long, not_utf8, no_tab;  // a pair counts once, by its first fault; a NUL is not text
  std::string text() const;  // "29,000 pairs; skipped 3 empty (train.en:17, ...), 1 not UTF-8 (...)"
};

struct SentencePair {
  std::string source, target;
};

class ParallelCorpus {
 public:
  explicit ParallelCorpus(CorpusConfig config);
  // The next good pair. With kRefuse a bad line is an error that names its place; unequal line counts always are
  // (the rest of the longer side is counted first).
  bool next(SentencePair& pair);
  const CorpusReport& report() const { return report_; }
  enum Side { kSource = 0, kTarget = 1 };
  std::string place(Side side) const;  // of the last pair: "train.en:17"
  double progress() const;

 private:
  bool next_lines(SentencePair& pair);
  bool split_columns(SentencePair& pair);
  bool good(const std::string& sentence, Side side);
  void bad(BadLineCount& kind, const char* what, Side side);
  [[noreturn]] void unequal(int64_t source_lines, int64_t target_lines) const;

  CorpusConfig config_;
  std::vector<LineReader> readers_;  // source and target, or the TSV
  CorpusReport report_;
  int64_t lines_ = 0;  // read of each side
};

}  // namespace heed::data
