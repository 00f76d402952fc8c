// A tokenised parallel corpus: the sequences of source and target of each pair in turn (sequence_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "heed/data/parallel_corpus.h"
#include "heed/data/sequence_file.h"
#include "heed/text/tokenizer.h"

namespace heed::data {

struct StoreConfig {
  int64_t max_length = 256;  // tokens of a side, with eos; a longer pair is left out (or refused, as bad lines are)
  BadLines bad_lines = BadLines::kSkip;
  // Each pair is stored so often: as the tokenizers cut it, then with merges passed over at random (split_dropout.h).
  int64_t variants = 1;
  double split_dropout = 0;
  uint64_t seed = 1;
};

class PairStore {
 public:
  static PairStore open(const std::string& path) { return PairStore(SequenceFile::open(path, kPairSequences)); }
  // As SequenceFile::parse.
  static PairStore parse(std::span<const std::byte> file, const std::string& label) {
    return PairStore(SequenceFile::parse(file, label, kPairSequences));
  }
  PairStore() = default;

  int64_t size() const { return file_.entries(); }
  std::span<const int32_t> source(int64_t i) const { return file_.sequence(2 * i); }      // with eos
  std::span<const int32_t> target(int64_t i) const { return file_.sequence(2 * i + 1); }  // with eos
  int64_t source_length(int64_t i) const { return static_cast<int64_t>(source(i).size()); }
  int64_t target_length(int64_t i) const { return static_cast<int64_t>(target(i).size()); }
  int64_t source_tokens() const { return file_.first(); }
  int64_t target_tokens() const { return file_.second(); }
  uint64_t fingerprint() const { return file_.fingerprint(); }
  bool intact() const { return file_.intact(); }

 private:
  explicit PairStore(SequenceFile file) : file_(std::move(file)) {}
  SequenceFile file_;
};

struct StoreReport {
  BadLineCount too_long;   // in tokens
  BadLineCount no_tokens;  // a line whose text is nothing to the tokenizer
  int64_t unknown = 0;     // tokens
};
// Tokenises in parallel, in the order of the corpus, and writes the file atomically.
StoreReport build_store(const std::string& path, ParallelCorpus& corpus, const text::TokenizerPair& tokenizers,
                        const StoreConfig& config, const std::function<void(double share)>& progress = {});

}  // namespace heed::data
