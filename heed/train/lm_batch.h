// Blocks of a text as a batch that a language model reads.
#pragma once

#include <span>
#include <vector>

#include "heed/data/blocks.h"
#include "heed/models/batch.h"

namespace heed::train {

// Each label is predicted from the ids before it in its sequence; one below 0 is no label.
struct TextBatch {
  models::TokenBatch tokens;
  std::vector<int32_t> labels;
};

struct TextBatchConfig {
  int32_t start = 0;   // the id that a document begins behind
  bool across = true;  // documents of a block are one sequence; else one each
};

// first_id numbers the sequences within the step, so that dropout does not depend on how the step is cut into batches.
TextBatch text_batch(const data::TextStore& store, std::span<const data::Block> blocks, const TextBatchConfig& config,
                     uint32_t first_id = 0);
// How many sequences that batch has.
uint32_t text_sequences(const data::TextStore& store, std::span<const data::Block> blocks, bool across);

}  // namespace heed::train
