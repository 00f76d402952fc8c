// How likely a model finds given translations, or a language model given texts.
#pragma once

#include <cmath>
#include <limits>

#include "heed/decode/alignment.h"
#include "heed/tasks/generator.h"
#include "heed/tasks/translator.h"

namespace heed::tasks {

struct Score {
  double log_probability = 0;  // of all tokens, of a translation with the end
  int64_t tokens = 0;          // that it is the sum of
  double by_token() const { return tokens == 0 ? 0 : log_probability / static_cast<double>(tokens); }
  // Of nothing there is none: NaN, which JSON has as null.
  double perplexity() const { return tokens == 0 ? std::numeric_limits<double>::quiet_NaN() : std::exp(-by_token()); }
};
struct TextPair {
  std::string source, target;
};
struct PairScoreConfig {
  int64_t batch_tokens = 4096;
  // A pair for which the model has too few positions: an error, or a score of no tokens.
  enum { kRefuse, kLeaveOut } too_long = kRefuse;
};
// In the order of the pairs; the same bits whatever stands beside a pair.
std::vector<Score> score_pairs(const TranslatorView& translator, const std::vector<TextPair>& pairs,
                               const PairScoreConfig& config = {});
// The same for ids, without eos.
std::vector<Score> score_ids(const models::EncoderDecoder& model, const std::vector<decode::IdPair>& pairs,
                             const PairScoreConfig& config = {});

struct TextScoreConfig {
  // A text longer than the context is read in windows of it. Each begins so many tokens after the one before, and counts
  // the tokens that are new in it; 0: half of the context, so that each token has at least that much before it.
  int64_t stride = 0;
  int64_t batch_tokens = 4096;
  bool with_end = false;
};
// Every token of each text, behind the model's start; with_end: the end too, as training counts it. A model without start
// and end says nothing of the first token: it does not count.
std::vector<Score> score_texts(const GeneratorView& generator, const std::vector<std::string>& texts,
                               const TextScoreConfig& config = {});
// Every id but the first, which nothing comes before.
std::vector<Score> score_sequences(const models::Decoder& model, const std::vector<std::vector<int32_t>>& sequences,
                                   const TextScoreConfig& config = {});

}  // namespace heed::tasks
