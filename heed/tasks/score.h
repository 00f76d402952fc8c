// How likely a model finds given translations.
#pragma once

#include "heed/decode/alignment.h"
#include "heed/tasks/translator.h"

namespace heed::tasks {

struct PairScore {
  double log_probability = 0;  // of all tokens and the end
  int64_t tokens = 0;          // with the end
};
struct TextPair {
  std::string source, target;
};
// In the order of the pairs; the same bits whatever stands beside a pair.
std::vector<PairScore> score_pairs(const TranslatorView& translator, const std::vector<TextPair>& pairs,
                                   int64_t batch_tokens = 4096);
// The same for ids, without eos.
std::vector<PairScore> score_ids(const models::EncoderDecoder& model, const std::vector<decode::IdPair>& pairs,
                                 int64_t batch_tokens = 4096);

}  // namespace heed::tasks
