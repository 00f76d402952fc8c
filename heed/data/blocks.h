// Which parts of a text make each batch of an epoch: a pure function of (seed, epoch), as the batches of sentences are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/data/text_store.h"

namespace heed::data {

// Ids of a store that are predicted together, each from those before it.
struct Block {
  int64_t begin = 0, end = 0;
};

struct BlockConfig {
  int64_t context = 256;  // ids of a block at most
  int64_t tokens = 4096;  // of a batch at most
  bool pack = true;       // all documents as one stream, cut in blocks; else each by itself
  uint64_t seed = 1;
  bool starts_given = false;  // each document by itself, behind its first id: behind_starts()
};

// The whole text in order. The first block of a stream is `first` long, or as long as all where that is 0.
std::vector<Block> cut_in_blocks(const TextStore& store, int64_t context, bool pack, int64_t first = 0);
// Each document by itself, without its first id: that is read, and nothing predicts it.
std::vector<Block> behind_starts(const TextStore& store, int64_t context);

// The stream is cut at another place in every epoch; the blocks are shuffled and dealt out to full batches. The last two
// share what is left for them where that is less than one and a half.
class EpochBlocks {
 public:
  EpochBlocks(const TextStore& store, const BlockConfig& config, int64_t epoch);
  int64_t size() const { return static_cast<int64_t>(begins_.size()) - 1; }
  std::span<const Block> batch(int64_t i) const;

 private:
  void deal(int64_t most);
  void share_the_rest(int64_t last);

  std::vector<Block> blocks_;  // batch after batch
  std::vector<int64_t> begins_;
};

}  // namespace heed::data
