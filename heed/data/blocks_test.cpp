#include "heed/data/blocks.h"

#include <algorithm>

#include "heed/base/random.h"
#include "heed/data/test_tokenizer.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class BlocksTest : public ::testing::Test {
 protected:
  // Documents of these many tokens, with eos.
  TextStore store(const std::vector<int64_t>& lengths) {
    std::string text;
    for (const int64_t length : lengths) {
      for (int64_t i = 1; i < length; ++i) text += "a ";
      text += "\n";
    }
    put_content(folder_.file("text"), text);
    TextCorpus corpus({.files = {folder_.file("text")}, .documents = Documents::kLine});
    build_text_store(folder_.file("store"), corpus, LetterTokenizer());
    return TextStore::open(folder_.file("store"));
  }
  static std::vector<Block> all_of(const EpochBlocks& epoch) {
    std::vector<Block> all;
    for (int64_t i = 0; i < epoch.size(); ++i) all.insert(all.end(), epoch.batch(i).begin(), epoch.batch(i).end());
    return all;
  }
  static std::vector<std::pair<int64_t, int64_t>> pairs(const std::vector<Block>& blocks) {
    std::vector<std::pair<int64_t, int64_t>> all;
    all.reserve(blocks.size());
    for (const Block& block : blocks) all.emplace_back(block.begin, block.end);
    return all;
  }
  const TemporaryFolder folder_;
};

TEST_F(BlocksTest, AStreamOrEachDocument) {
  const TextStore text = store({5, 2, 4});
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(pairs(cut_in_blocks(text, 4, true)), (Pairs{{0, 4}, {4, 8}, {8, 11}}));
  EXPECT_EQ(pairs(cut_in_blocks(text, 4, true, 3)), (Pairs{{0, 3}, {3, 7}, {7, 11}}));
  EXPECT_EQ(pairs(cut_in_blocks(text, 4, false)), (Pairs{{0, 4}, {4, 5}, {5, 7}, {7, 11}}));
  EXPECT_EQ(pairs(cut_in_blocks(text, 100, true, 50)), (Pairs{{0, 11}}));
}

// Whatever the numbers: each token once an epoch, no batch too large, no block too long or across a document by choice.
TEST_F(BlocksTest, AnEpochHasEveryTokenOnce) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<int64_t> lengths(1 + random.below(40));
    for (int64_t& length : lengths) length = 2 + static_cast<int64_t>(random.below(30));
    const TextStore text = store(lengths);
    BlockConfig config;
    config.context = 1 + static_cast<int64_t>(random.below(20)), config.pack = random.below(2) == 0;
    config.tokens = 1 + static_cast<int64_t>(random.below(60)), config.seed = random.below(9);
    const EpochBlocks epoch(text, config, static_cast<int64_t>(random.below(5)));
    std::vector<int> seen(static_cast<size_t>(text.tokens()));
    for (int64_t i = 0; i < epoch.size(); ++i) {
      int64_t tokens = 0;
      ASSERT_FALSE(epoch.batch(i).empty());
      for (const Block& block : epoch.batch(i)) {
        EXPECT_LT(block.begin, block.end);
        EXPECT_LE(block.end - block.begin, config.context);
        tokens += block.end - block.begin;
        for (int64_t t = block.begin; t < block.end; ++t) ++seen[static_cast<size_t>(t)];
        const auto crossed = std::upper_bound(text.borders().begin(), text.borders().end(), block.begin);
        EXPECT_TRUE(config.pack || block.end <= static_cast<int64_t>(*crossed));
      }
      EXPECT_TRUE(tokens <= config.tokens || epoch.batch(i).size() == 1);
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

// A batch is a step, however little it holds.
TEST_F(BlocksTest, TheLastBatchIsNotAFewTokens) {
  for (int64_t rest = 0; rest <= 64; rest += 2) {
    const TextStore text = store({640 + std::max<int64_t>(2, rest)});
    const EpochBlocks epoch(text, {.context = 4, .tokens = 64}, 1);
    int64_t all = 0, last = 0;
    for (int64_t i = 0; i < epoch.size(); ++i) {
      last = 0;
      for (const Block& block : epoch.batch(i)) last += block.end - block.begin;
      EXPECT_LE(last, 64);
      EXPECT_GE(last, 28) << "batch " << i << " of " << epoch.size();
      all += last;
    }
    EXPECT_EQ(all, text.tokens());
  }
  EXPECT_EQ(EpochBlocks(store({5}), {.context = 4, .tokens = 64}, 0).size(), 1);
}

TEST_F(BlocksTest, APureFunctionOfSeedAndEpoch) {
  const TextStore text = store(std::vector<int64_t>(50, 20));
  const BlockConfig config{.context = 16, .tokens = 64, .seed = 3};
  const auto blocks = [&](int64_t epoch, uint64_t seed) {
    BlockConfig other = config;
    other.seed = seed;
    return pairs(all_of(EpochBlocks(text, other, epoch)));
  };
  EXPECT_EQ(blocks(0, 3), blocks(0, 3));
  EXPECT_NE(blocks(0, 3), blocks(1, 3));
  EXPECT_NE(blocks(0, 3), blocks(0, 4));
  // Other places are cut in other epochs.
  auto first = blocks(0, 3), second = blocks(1, 3);
  std::sort(first.begin(), first.end()), std::sort(second.begin(), second.end());
  EXPECT_NE(first, second);
}

TEST_F(BlocksTest, WrongNumbersAreRefused) {
  const TextStore text = store({3});
  EXPECT_NE(message_of<Error>([&] { EpochBlocks(text, {.context = 0}, 0); }).find("[batches]"), std::string::npos);
  EXPECT_NE(message_of<Error>([&] { EpochBlocks(text, {.tokens = 0}, 0); }).find("[batches]"), std::string::npos);
  EXPECT_NE(message_of<Error>([&] { EpochBlocks(text, {}, -1); }).find("[batches]"), std::string::npos);
}

TEST_F(BlocksTest, DocumentsWhoseStartIsGivenAreBlocksBehindIt) {
  const TextStore text = store({5, 2, 4});
  EXPECT_EQ(pairs(behind_starts(text, 4)), (std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {6, 7}, {8, 11}}));
  const EpochBlocks epoch(text, {.context = 2, .tokens = 5, .starts_given = true}, 0);
  std::vector<std::pair<int64_t, int64_t>> dealt = pairs(all_of(epoch));
  std::sort(dealt.begin(), dealt.end());
  EXPECT_EQ(dealt, pairs(behind_starts(text, 2)));
  EXPECT_EQ(dealt, (std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {3, 5}, {6, 7}, {8, 10}, {10, 11}}));
}

}  // namespace
}  // namespace heed::data
