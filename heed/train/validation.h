// How good a translator is on sentences that it does not train on.
#pragma once

#include "heed/data/pair_store.h"
#include "heed/models/encoder_decoder.h"

namespace heed::train {

// Mean over target tokens: -log p, without smoothing.
double validation_loss(const models::EncoderDecoder& model, const data::PairStore& store, int64_t batch_tokens);

}  // namespace heed::train
