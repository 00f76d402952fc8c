#include "heed/data/blocks.h"

#include <algorithm>
#include <numeric>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/data/shuffle.h"

namespace heed::data {
namespace {

// Away from the streams that other uses of the same seed draw from.
constexpr uint64_t kStream = uint64_t{0xB10C} << 48;

void cut(std::vector<Block>& blocks, Block whole, int64_t context, int64_t first) {
  if (first > 0 && first < whole.end - whole.begin) {
    blocks.push_back({whole.begin, whole.begin + first});
    whole.begin += first;
  }
  for (int64_t at = whole.begin; at < whole.end; at += context)
    blocks.push_back({at, std::min(at + context, whole.end)});
}

int64_t tokens_in(std::span<const Block> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), int64_t{0},
                         [](int64_t sum, const Block& block) { return sum + block.end - block.begin; });
}

}  // namespace

std::vector<Block> cut_in_blocks(const TextStore& store, int64_t context, bool pack, int64_t first) {
  std::vector<Block> blocks;
  if (pack) {
    cut(blocks, {0, store.tokens()}, context, first);
    return blocks;
  }
  const std::span<const uint64_t> borders = store.borders();
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    cut(blocks, {static_cast<int64_t>(borders[i]), static_cast<int64_t>(borders[i + 1])}, context, 0);
  }
  return blocks;
}

std::vector<Block> behind_starts(const TextStore& store, int64_t context) {
  std::vector<Block> blocks;
  const std::span<const uint64_t> borders = store.borders();
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    cut(blocks, {static_cast<int64_t>(borders[i]) + 1, static_cast<int64_t>(borders[i + 1])}, context, 0);
  }
  return blocks;
}

EpochBlocks::EpochBlocks(const TextStore& store, const BlockConfig& config, int64_t epoch) {
  if (config.context < 1) fail("[batches] a block of {} tokens, expected at least 1", config.context);
  if (config.tokens < 1) fail("[batches] {} tokens a batch, expected at least 1", config.tokens);
  if (epoch < 0) fail("[batches] epoch {}, expected 0 or more", epoch);
  Random random(config.seed, kStream + static_cast<uint64_t>(epoch));
  const auto first = static_cast<int64_t>(random.below(static_cast<uint64_t>(config.context)));
  blocks_ = config.starts_given ? behind_starts(store, config.context)
                                : cut_in_blocks(store, config.context, config.pack, first);
  shuffle(blocks_, random);
  deal(config.tokens);
}

void EpochBlocks::deal(int64_t most) {
  int64_t tokens = 0;
  begins_.push_back(0);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int64_t more = blocks_[i].end - blocks_[i].begin;
    if (tokens > 0 && tokens + more > most) {
      begins_.push_back(static_cast<int64_t>(i));
      tokens = 0;
    }
    tokens += more;
  }
  if (blocks_.empty()) return;
  begins_.push_back(static_cast<int64_t>(blocks_.size()));
  if (size() > 1 && 2 * tokens < most) share_the_rest(tokens);
}

// A last batch of a few tokens would be a step as long as any other in a direction of chance.
void EpochBlocks::share_the_rest(int64_t last) {
  int64_t before = tokens_in(batch(size() - 2));
  for (int64_t& border = begins_[begins_.size() - 2];; --border) {
    const Block& moves = blocks_[static_cast<size_t>(border) - 1];
    const int64_t moved = moves.end - moves.begin;
    if (last + moved > before - moved) return;
    last += moved, before -= moved;
  }
}

std::span<const Block> EpochBlocks::batch(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  return std::span(blocks_).subspan(static_cast<size_t>(begins_[at]),
                                    static_cast<size_t>(begins_[at + 1] - begins_[at]));
}

}  // namespace heed::data
