#include "heed/text/split_dropout.h"

#include <gtest/gtest.h>

#include <set>

#include "heed/text/train_tokenizer.h"

namespace heed::text {
namespace {

const std::vector<std::string> kLines = {"the cat caught the mouse",      "the cats caught the mice and the mouse",
                                         "a mouse was caught by the cat", "고양이가 쥐를 잡았다",
                                         "고양이는 쥐를 잡지 않았다",     "쥐가 고양이를 보았다",
                                         "the other mother and another",  "the weather is rather other than that"};

LineSource lines() {
  return [at = size_t{0}](std::string& line) mutable {
    if (at == kLines.size()) return false;
    line = kLines[at++];
    return true;
  };
}

class SplitDropoutTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const Tokenizer> trained() {
    TokenizerConfig config;
    config.vocabulary = 380;
    return train_tokenizers(config, lines(), lines()).pair.source;
  }
  const std::shared_ptr<const Tokenizer> tokenizer_ = trained();
  // With the end mark, as a store has them; the emoji has no piece and becomes bytes.
  std::vector<int32_t> encoded(const std::string& text) const {
    std::vector<int32_t> ids = tokenizer_->encode(text);
    ids.push_back(tokenizer_->special().eos);
    return ids;
  }
};

TEST_F(SplitDropoutTest, WithoutDropoutItIsTheTokenizer) {
  const SplitDropout same(*tokenizer_, 0);
  Random random(1);
  for (const std::string& line : kLines) EXPECT_EQ(same.cut(encoded(line), random), encoded(line)) << line;
  for (const char* line : {"", "x", "cat😀s caught", "another weather", "고양이들이 mouse"})
    EXPECT_EQ(same.cut(encoded(line), random), encoded(line)) << line;
}

TEST_F(SplitDropoutTest, KnowsTheIdsOfItsTokenizer) {
  const SplitDropout half(*tokenizer_, 0.5);
  const std::vector<int32_t> ids = encoded("another cat caught the mouse");
  EXPECT_TRUE(half.merges_to(ids));
  const SplitDropout much(*tokenizer_, 0.9);
  Random random(1);
  EXPECT_FALSE(half.merges_to(much.cut(ids, random)));
}

TEST_F(SplitDropoutTest, OtherPiecesOfTheSameText) {
  const SplitDropout half(*tokenizer_, 0.5);
  for (const std::string line : {"the cat caught another mouse", "고양이가 쥐를 잡았다", "cat😀s caught"}) {
    std::set<std::vector<int32_t>> cuts;
    for (uint64_t stream = 0; stream < 20; ++stream) {
      Random random(7, stream), again(7, stream);
      const std::vector<int32_t> cut = half.cut(encoded(line), random);
      EXPECT_EQ(cut, half.cut(encoded(line), again));
      EXPECT_EQ(tokenizer_->decode(cut), line);
      EXPECT_EQ(cut.back(), tokenizer_->special().eos);
      EXPECT_GE(cut.size(), encoded(line).size());
      cuts.insert(cut);
    }
    EXPECT_GT(cuts.size(), 10u) << line;
  }
}

TEST_F(SplitDropoutTest, TheLastWordIsCutToo) {
  const SplitDropout much(*tokenizer_, 0.9);
  Random random(1);
  EXPECT_GT(much.cut(encoded("mouse"), random).size(), encoded("mouse").size());
}

TEST_F(SplitDropoutTest, AProbabilityIsOne) {
  EXPECT_THROW(SplitDropout(*tokenizer_, 1.0), std::exception);
  EXPECT_THROW(SplitDropout(*tokenizer_, -0.1), std::exception);
}

}  // namespace
}  // namespace heed::text
