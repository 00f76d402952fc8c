#include "heed/train/lm_batch.h"

#include <algorithm>
#include <iterator>

namespace heed::train {
namespace {

// The documents that begin in a block.
std::span<const uint64_t> borders_in(const data::TextStore& store, const data::Block& block) {
  const std::span<const uint64_t> all = store.borders();
  const auto begin = std::lower_bound(all.begin(), all.end(), static_cast<uint64_t>(block.begin));
  return {begin, std::lower_bound(begin, all.end(), static_cast<uint64_t>(block.end))};
}

// Where sequences begin: with the block, and with the documents in it.
int64_t sequences_of(const data::Block& block, std::span<const uint64_t> borders) {
  const bool first_begins = !borders.empty() && static_cast<int64_t>(borders.front()) == block.begin;
  return static_cast<int64_t>(borders.size()) + !first_begins;
}

}  // namespace

TextBatch text_batch(const data::TextStore& store, std::span<const data::Block> blocks, const TextBatchConfig& config,
                     uint32_t first_id) {
  TextBatch batch;
  std::vector<int64_t> lengths;
  const std::span<const int32_t> ids = store.ids();
  for (const data::Block& block : blocks) {
    const size_t row = batch.labels.size();
    const auto begin = static_cast<size_t>(block.begin), end = static_cast<size_t>(block.end);
    batch.labels.insert(batch.labels.end(), ids.begin() + block.begin, ids.begin() + block.end);
    // The same ids one place later, and the start instead of what stood before a document.
    batch.tokens.ids.push_back(begin > 0 ? data::id_of(ids[begin - 1]) : config.start);
    std::transform(ids.begin() + block.begin, ids.begin() + block.end - 1, std::back_inserter(batch.tokens.ids),
                   data::id_of);
    const std::span<const uint64_t> borders = borders_in(store, block);
    for (const uint64_t border : borders) batch.tokens.ids[row + border - begin] = config.start;
    size_t from = begin;
    for (const uint64_t border : borders) {
      if (config.across || border == begin) continue;
      lengths.push_back(static_cast<int64_t>(border - from));
      from = border;
    }
    lengths.push_back(static_cast<int64_t>(end - from));
  }
  batch.tokens.spans = Spans(lengths, first_id);
  return batch;
}

uint32_t text_sequences(const data::TextStore& store, std::span<const data::Block> blocks, bool across) {
  if (across) return static_cast<uint32_t>(blocks.size());
  int64_t count = 0;
  for (const data::Block& block : blocks) count += sequences_of(block, borders_in(store, block));
  return static_cast<uint32_t>(count);
}

}  // namespace heed::train
