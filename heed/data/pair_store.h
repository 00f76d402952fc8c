// A tokenised parallel corpus in one memory-mapped file: it may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "heed/data/parallel_corpus.h"
#include "heed/io/mapped_file.h"
#include "heed/text/tokenizer.h"

namespace heed::data {

struct StoreConfig {
  int64_t max_length = 256;  // tokens of a side, with eos; a longer pair is left out (or refused, as bad lines are)
  BadLines too_long = BadLines::kSkip;
};

class PairStore {
 public:
  // Every offset is checked against the file before anything is read; a damaged file is an error.
  static PairStore open(const std::string& path);

  int64_t size() const { return count_; }
  std::span<const int32_t> source(int64_t i) const;  // with eos
  std::span<const int32_t> target(int64_t i) const;  // with eos
  int64_t source_length(int64_t i) const { return static_cast<int64_t>(source(i).size()); }
  int64_t target_length(int64_t i) const { return static_cast<int64_t>(target(i).size()); }
  int64_t source_tokens() const;
  int64_t target_tokens() const;
  uint64_t fingerprint() const;  // of all ids: tells on resume that the data changed

 private:
  MappedFile file_;
  int64_t count_ = 0;
  const uint64_t* source_offsets_ = nullptr;  // count + 1 each, in ids
  const uint64_t* target_offsets_ = nullptr;
  const int32_t* source_ids_ = nullptr;
  const int32_t* target_ids_ = nullptr;
};

struct StoreReport {
  CorpusReport lines;
  BadLineCount too_long;  // in tokens
  int64_t unknown = 0;    // tokens
};
// Tokenises in parallel, in the order of the corpus, and writes the file atomically.
StoreReport build_store(const std::string& path, ParallelCorpus& corpus, const text::TokenizerPair& tokenizers,
                        const StoreConfig& config, const std::function<void(double share)>& progress = {});

}  // namespace heed::data
