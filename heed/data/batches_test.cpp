#include "heed/data/batches.h"

#include <algorithm>
#include <set>

#include "heed/base/random.h"
#include "heed/data/test_tokenizer.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class BatchesTest : public ::testing::Test {
 protected:
  void build(int64_t pairs) {
    Random random(3);
    std::string source, target;
    const auto sentence = [&](uint64_t words) {
      std::string text = "x";
      while (--words > 0) text += " y";
      return text + "\n";
    };
    for (int64_t i = 0; i < pairs; ++i) {
      const uint64_t words = 1 + random.below(40);
      source += sentence(words);
      target += sentence(1 + random.below(words + 10));
    }
    put_content(folder_.file("s"), source);
    put_content(folder_.file("t"), target);
    CorpusConfig files;
    files.src = {folder_.file("s")};
    files.tgt = {folder_.file("t")};
    ParallelCorpus corpus(files);
    build_store(folder_.file("store"), corpus, letter_tokenizers(), {});
    store_ = PairStore::open(folder_.file("store"));
  }
  std::vector<std::vector<uint32_t>> epoch(const BatchConfig& config, int64_t number) const {
    const EpochBatches batches(store_, config, number);
    std::vector<std::vector<uint32_t>> all;
    for (int64_t i = 0; i < batches.size(); ++i) {
      const auto batch = batches.batch(i);
      all.emplace_back(batch.begin(), batch.end());
    }
    return all;
  }
  int64_t tokens(const std::vector<uint32_t>& batch) const {
    int64_t source = 0, target = 0;
    for (const uint32_t i : batch) {
      source += store_.source_length(i);
      target += store_.target_length(i);
    }
    return std::max(source, target);
  }
  const TemporaryFolder folder_;
  PairStore store_;
};

TEST_F(BatchesTest, EverySentenceOnceWithinTheLimits) {
  for (const int64_t pairs : {1, 2, 100, 40000}) {
    build(pairs);
    for (const int64_t limit : {1, 40, 1000}) {
      BatchConfig config;
      config.tokens = limit;
      config.sentences = 50;
      std::vector<bool> seen(static_cast<size_t>(pairs));
      for (const auto& batch : epoch(config, 0)) {
        ASSERT_FALSE(batch.empty());
        ASSERT_LE(batch.size(), 50u);
        ASSERT_TRUE(tokens(batch) <= limit || batch.size() == 1);
        for (const uint32_t i : batch) {
          ASSERT_FALSE(seen[i]);
          seen[i] = true;
        }
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), true), pairs);
    }
  }
}

TEST_F(BatchesTest, ASentenceLongerThanABatchStandsAlone) {
  build(300);
  BatchConfig config;
  config.tokens = 1;
  EXPECT_EQ(epoch(config, 0).size(), 300u);
}

TEST_F(BatchesTest, APureFunctionOfSeedAndEpoch) {
  build(5000);
  BatchConfig config;
  config.tokens = 500;
  config.seed = 7;
  const auto first = epoch(config, 0);
  EXPECT_EQ(epoch(config, 0), first);
  EXPECT_NE(epoch(config, 1), first);
  config.seed = 8;
  EXPECT_NE(epoch(config, 0), first);
}

// Another order alone would show the model the same batches again.
TEST_F(BatchesTest, AnotherEpochMixesOtherSentences) {
  build(5000);
  BatchConfig config;
  config.tokens = 500;
  const auto contents = [&](int64_t number) {
    std::set<std::vector<uint32_t>> sets;
    for (auto batch : epoch(config, number)) {
      std::sort(batch.begin(), batch.end());
      sets.insert(batch);
    }
    return sets;
  };
  const auto first = contents(0), second = contents(1);
  std::vector<std::vector<uint32_t>> common;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(common));
  EXPECT_LT(common.size(), first.size() / 20);
}

TEST_F(BatchesTest, SentencesOfABatchAreOfLikeLength) {
  build(20000);
  BatchConfig config;
  config.tokens = 1000;
  double spread = 0;
  const auto all = epoch(config, 0);
  for (const auto& batch : all) {
    int64_t shortest = 1000, longest = 0;
    for (const uint32_t i : batch) {
      const int64_t length = std::max(store_.source_length(i), store_.target_length(i));
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
    }
    spread += static_cast<double>(longest - shortest);
  }
  EXPECT_LT(spread / static_cast<double>(all.size()), 2.0);
}

// Neither short nor long sentences may come in a row: the order of batches is shuffled over the whole epoch.
TEST_F(BatchesTest, LengthsAreMixedOverTheEpoch) {
  build(20000);
  BatchConfig config;
  config.tokens = 1000;
  const auto all = epoch(config, 0);
  double first = 0, second = 0;
  for (size_t i = 0; i < all.size(); ++i) (i < all.size() / 2 ? first : second) += static_cast<double>(all[i].size());
  EXPECT_NEAR(first / second, 1.0, 0.15);
}

TEST_F(BatchesTest, AnEmptyStoreHasNoBatches) {
  build(0);
  EXPECT_EQ(EpochBatches(store_, {}, 0).size(), 0);
}

TEST_F(BatchesTest, SaysWhatIsWrong) {
  build(1);
  BatchConfig config;
  config.tokens = 0;
  EXPECT_NE(message_of<Error>([&] { epoch(config, 0); }).find("0 tokens a batch"), std::string::npos);
  config = {};
  config.sentences = 0;
  EXPECT_NE(message_of<Error>([&] { epoch(config, 0); }).find("0 sentences a batch"), std::string::npos);
  EXPECT_NE(message_of<Error>([&] { epoch({}, -1); }).find("epoch -1"), std::string::npos);
}

}  // namespace
}  // namespace heed::data
