#include "heed/data/pair_store.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/text/split_dropout.h"

namespace heed::data {
namespace {

// A chunk is read, tokenised on all threads and written before the next one: memory does not grow with the corpus.
constexpr size_t kChunkPairs = 8192;
constexpr size_t kChunkBytes = 8 << 20;
constexpr int64_t kPairsAtOnce = 16;

// Away from the streams that other uses of the same seed draw from.
constexpr uint64_t kVariantStream = uint64_t{0x5B17} << 48;

struct PairInWork {
  SentencePair text;
  std::array<std::string, 2> places;
  std::array<std::vector<int32_t>, 2> ids;
};

bool read_chunk(ParallelCorpus& corpus, std::vector<PairInWork>& chunk) {
  chunk.clear();
  size_t bytes = 0;
  for (PairInWork pair; chunk.size() < kChunkPairs && bytes < kChunkBytes && corpus.next(pair.text);) {
    bytes += pair.text.source.size() + pair.text.target.size();
    pair.places = {corpus.place(ParallelCorpus::kSource), corpus.place(ParallelCorpus::kTarget)};
    chunk.push_back(std::exchange(pair, {}));
  }
  return !chunk.empty();
}

class StoreWriter {
 public:
  StoreWriter(const std::string& path, const StoreConfig& config, const text::TokenizerPair& tokenizers)
      : file_(path, kPairSequences),
        config_(config),
        unknown_{tokenizers.source->special().unk, tokenizers.target->special().unk} {}

  // False where the pair is left out.
  bool add(const PairInWork& pair, StoreReport& report) {
    for (size_t side = 0; side < 2; ++side) {
      if (pair.ids[side].size() == 1) {  // eos alone
        if (config_.bad_lines == BadLines::kRefuse) fail_file("[store] {} has no token", pair.places[side]);
        count_bad_line(report.no_tokens, pair.places[side]);
        return false;
      }
      if (static_cast<int64_t>(pair.ids[side].size()) > config_.max_length) {
        if (config_.bad_lines == BadLines::kRefuse) {
          fail_file("[store] {} has {} tokens with the end mark, expected at most {}", pair.places[side],
                    pair.ids[side].size(), config_.max_length);
        }
        count_bad_line(report.too_long, pair.places[side]);
        return false;
      }
    }
    for (size_t side = 0; side < 2; ++side) {
      const std::span<const int32_t> ids = pair.ids[side];
      file_.add(ids);
      report.unknown += std::count(ids.begin(), ids.end(), unknown_[side]);
    }
    return true;
  }

  // What an unlucky cut makes too long is no fault of the line.
  void add_variant(const PairInWork& pair) {
    for (const auto& ids : pair.ids) {
      if (static_cast<int64_t>(ids.size()) > config_.max_length) return;
    }
    for (const auto& ids : pair.ids) file_.add(ids);
  }

  void finish() { file_.finish(); }

 private:
  SequenceWriter file_;
  StoreConfig config_;
  std::array<int32_t, 2> unknown_;
};

// The pairs of a chunk cut in another way, each by numbers of its own.
class Variants {
 public:
  Variants(const text::TokenizerPair& tokenizers, const StoreConfig& config) : config_(config) {
    if (config.variants > 1) {
      for (const auto* tokenizer : {tokenizers.source.get(), tokenizers.target.get()})
        cutters_.emplace_back(*tokenizer, config.split_dropout);
    }
  }

  void write(const std::vector<PairInWork>& chunk, StoreWriter& writer) {
    if (before_ == 0) check(chunk);
    for (int64_t variant = 1; variant < config_.variants; ++variant) {
      std::vector<PairInWork> cut(chunk.size());
      parallel_for(static_cast<int64_t>(chunk.size()), kPairsAtOnce, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          for (size_t side = 0; side < 2; ++side) {
            const auto number = static_cast<uint64_t>((before_ + i) * config_.variants + variant);
            Random random(config_.seed, kVariantStream + 2 * number + side);
            cut[static_cast<size_t>(i)].ids[side] = cutters_[side].cut(chunk[static_cast<size_t>(i)].ids[side], random);
          }
        }
      });
      for (const PairInWork& pair : cut) writer.add_variant(pair);
    }
    before_ += static_cast<int64_t>(chunk.size());
  }

 private:
  void check(const std::vector<PairInWork>& chunk) const {
    for (size_t side = 0; side < cutters_.size(); ++side) {
      for (const PairInWork& pair : chunk) {
        if (cutters_[side].merges_to(pair.ids[side])) continue;
        fail("[store] {} variants of a sentence (text.variants): the tokenizer does not cut by merges in the order of its "
             "ids, as bpe of heed does",
             config_.variants);
      }
    }
  }

  StoreConfig config_;
  std::vector<text::SplitDropout> cutters_;  // of source and target
  int64_t before_ = 0;                       // pairs of the chunks before
};

}  // namespace

StoreReport build_store(const std::string& path, ParallelCorpus& corpus, const text::TokenizerPair& tokenizers,
                        const StoreConfig& config, const std::function<void(double share)>& progress) {
  if (config.max_length < 2) fail("[store] max_length is {}, expected at least 2", config.max_length);
  StoreReport report;
  StoreWriter writer(path, config, tokenizers);
  Variants variants(tokenizers, config);
  const int32_t source_eos = tokenizers.source->special().eos, target_eos = tokenizers.target->special().eos;
  std::vector<PairInWork> chunk;
  while (read_chunk(corpus, chunk)) {
    parallel_for(static_cast<int64_t>(chunk.size()), kPairsAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        PairInWork& pair = chunk[static_cast<size_t>(i)];
        pair.ids = {tokenizers.source->encode(pair.text.source), tokenizers.target->encode(pair.text.target)};
        pair.ids[0].push_back(source_eos);
        pair.ids[1].push_back(target_eos);
      }
    });
    std::erase_if(chunk, [&](const PairInWork& pair) { return !writer.add(pair, report); });
    variants.write(chunk, writer);
    if (progress) progress(corpus.progress());
  }
  writer.finish();
  return report;
}

}  // namespace heed::data
