#include "heed/data/batches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/data/shuffle.h"

namespace heed::data {
namespace {

// Enough for sentences of like length to meet, and small enough for every epoch to mix them anew.
constexpr size_t kWindow = 1 << 14;
// Away from the streams that other uses of the same seed draw from.
constexpr uint64_t kStream = uint64_t{0xBA7C} << 48;

struct Range {
  size_t begin, end;
};

void sort_by_length(std::span<uint32_t> window, const PairStore& store) {
  std::vector<std::pair<int64_t, uint32_t>> keyed;
  keyed.reserve(window.size());
  for (const uint32_t i : window) keyed.emplace_back(std::max(store.source_length(i), store.target_length(i)), i);
  // Equal lengths stay in the shuffled order: else the same sentences would meet in every epoch.
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(keyed.begin(), keyed.end(), window.begin(), [](const auto& entry) { return entry.second; });
}

void cut_into_batches(std::span<const uint32_t> order, Range window, const PairStore& store, const BatchConfig& config,
                      std::vector<Range>& batches) {
  size_t begin = window.begin;
  int64_t source = 0, target = 0;
  for (size_t i = window.begin; i < window.end; ++i) {
    const int64_t more_source = store.source_length(order[i]), more_target = store.target_length(order[i]);
    const bool full = std::max(source + more_source, target + more_target) > config.tokens ||
                      static_cast<int64_t>(i - begin) == config.sentences;
    if (full && i > begin) {
      batches.push_back({begin, i});
      begin = i;
      source = target = 0;
    }
    source += more_source;
    target += more_target;
  }
  batches.push_back({begin, window.end});
}

}  // namespace

EpochBatches::EpochBatches(const PairStore& store, const BatchConfig& config, int64_t epoch) {
  if (config.tokens < 1) fail("[batches] {} tokens a batch, expected at least 1", config.tokens);
  if (config.sentences < 1) fail("[batches] {} sentences a batch, expected at least 1", config.sentences);
  if (epoch < 0) fail("[batches] epoch {}, expected 0 or more", epoch);
  if (store.size() > std::numeric_limits<uint32_t>::max()) {
    fail("[batches] {} sentence pairs, expected fewer than 2^32", store.size());
  }
  std::vector<uint32_t> order(static_cast<size_t>(store.size()));
  std::iota(order.begin(), order.end(), 0u);
  Random random(config.seed, kStream + static_cast<uint64_t>(epoch));
  shuffle(order, random);

  std::vector<Range> batches;
  for (size_t begin = 0; begin < order.size(); begin += kWindow) {
    const Range window{begin, std::min(begin + kWindow, order.size())};
    sort_by_length(std::span(order).subspan(window.begin, window.end - window.begin), store);
    cut_into_batches(order, window, store, config, batches);
  }
  shuffle(batches, random);

  sentences_.reserve(order.size());
  begins_.push_back(0);
  for (const Range& batch : batches) {
    sentences_.insert(sentences_.end(), order.begin() + static_cast<int64_t>(batch.begin),
                      order.begin() + static_cast<int64_t>(batch.end));
    begins_.push_back(static_cast<int64_t>(sentences_.size()));
  }
}

std::span<const uint32_t> EpochBatches::batch(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  return std::span(sentences_)
      .subspan(static_cast<size_t>(begins_[at]), static_cast<size_t>(begins_[at + 1] - begins_[at]));
}

}  // namespace heed::data
