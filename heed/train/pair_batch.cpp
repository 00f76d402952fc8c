#include "heed/train/pair_batch.h"

namespace heed::train {

models::PairBatch pair_batch(const data::PairStore& store, std::span<const uint32_t> sentences, int32_t start,
                             uint32_t first_id) {
  models::PairBatch batch;
  std::vector<int64_t> source_lengths, target_lengths;
  for (const uint32_t i : sentences) {
    const std::span<const int32_t> source = store.source(i), target = store.target(i);
    batch.source.ids.insert(batch.source.ids.end(), source.begin(), source.end());
    // The decoder reads the target shifted right.
    batch.target.ids.push_back(start);
    batch.target.ids.insert(batch.target.ids.end(), target.begin(), target.end() - 1);
    batch.labels.insert(batch.labels.end(), target.begin(), target.end());
    source_lengths.push_back(static_cast<int64_t>(source.size()));
    target_lengths.push_back(static_cast<int64_t>(target.size()));
  }
  batch.source.spans = Spans(source_lengths, first_id);
  batch.target.spans = Spans(target_lengths, first_id);
  return batch;
}

}  // namespace heed::train
