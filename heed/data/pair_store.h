// A tokenised parallel corpus in one memory-mapped file: it may be larger than memory.
// The file, little-endian: the word "heedpair" and the version; the ids, source and target of each pair in turn; the
// offsets; then what was known only at the end: counts, fingerprint and the word again.
#pragma once

#include <cstddef>
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
  // From memory that must outlive the object, aligned to 8; `label` stands for the file's name in messages.
  static PairStore parse(std::span<const std::byte> file, const std::string& label);

  int64_t size() const { return count_; }
  std::span<const int32_t> source(int64_t i) const;  // with eos
  std::span<const int32_t> target(int64_t i) const;  // with eos
  int64_t source_length(int64_t i) const { return static_cast<int64_t>(source(i).size()); }
  int64_t target_length(int64_t i) const { return static_cast<int64_t>(target(i).size()); }
  int64_t source_tokens() const { return source_tokens_; }
  int64_t target_tokens() const { return target_tokens_; }
  uint64_t fingerprint() const { return fingerprint_; }  // of all ids: tells on resume that the data changed
  bool intact() const;                                   // the ids still give the fingerprint; reads the whole file

 private:
  MappedFile file_;
  int64_t count_ = 0, source_tokens_ = 0, target_tokens_ = 0;
  uint64_t fingerprint_ = 0;
  const uint64_t* offsets_ = nullptr;  // 2 count + 1, in ids: source 0, target 0, source 1, ..., end
  const int32_t* ids_ = nullptr;
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
