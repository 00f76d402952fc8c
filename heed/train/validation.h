// How good a translator is on sentences that it does not train on.
#pragma once

#include "heed/data/pair_store.h"
#include "heed/decode/stream.h"
#include "heed/models/encoder_decoder.h"
#include "heed/text/tokenizer.h"
#include "heed/train/bleu.h"
#include "heed/train/observer.h"

namespace heed::train {

// Mean over target tokens: -log p, without smoothing.
double validation_loss(const models::EncoderDecoder& model, const data::PairStore& store, int64_t batch_tokens);

struct TranslatedText {
  std::vector<std::string> lines;
  int64_t tokens = 0;  // that were written
};
// Lines of text to lines of text; an empty line stays empty.
TranslatedText translate_lines(const models::EncoderDecoder& model, const text::TokenizerPair& tokenizers,
                               const std::vector<std::string>& sources, const decode::StreamConfig& config);

}  // namespace heed::train
