// Sentences of the store as a batch that a translator reads.
#pragma once

#include <span>

#include "heed/data/pair_store.h"
#include "heed/models/batch.h"

namespace heed::train {

// first_id numbers the sentences within the step, so that dropout does not depend on how the step is cut into batches.
models::PairBatch pair_batch(const data::PairStore& store, std::span<const uint32_t> sentences, int32_t start,
                             uint32_t first_id = 0);

}  // namespace heed::train
