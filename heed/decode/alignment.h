// Which source tokens a translation looked at: the weights of one cross-attention, recomputed for a finished sentence.
#pragma once

#include "heed/decode/translation.h"

namespace heed::decode {

// (target tokens, source tokens) of the model's alignment head, or the mean over the heads of the last layer but one
// where none is known. Row t is where the model looked when it chose token t of `target`.
Tensor alignment_weights(const models::EncoderDecoder& model, const std::vector<int32_t>& source,
                         const std::vector<int32_t>& target);

// One head of one decoder layer.
Tensor cross_weights(const models::EncoderDecoder& model, const std::vector<int32_t>& source,
                     const std::vector<int32_t>& target, const models::AlignmentHead& head);

// The head that points most clearly, and at the most tokens, in these sentence pairs (each with eos).
struct IdPair {
  std::vector<int32_t> source, target;
};
models::AlignmentHead best_alignment_head(const models::EncoderDecoder& model, const std::vector<IdPair>& pairs);

}  // namespace heed::decode
