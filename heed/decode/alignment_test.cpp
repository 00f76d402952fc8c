// Which head of a model is taken to point at words, and what it says.
#include "heed/decode/alignment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heed/decode/test_pointing.h"

namespace heed::decode {
namespace {

constexpr int64_t kVocabulary = 20;

int64_t largest(const Tensor& weights, int64_t row) {
  const float* begin = weights.data() + row * weights.size(1);
  return std::max_element(begin, begin + weights.size(1)) - begin;
}

TEST(Alignment, TheHeadThatPointsIsFound) {
  const std::vector<IdPair> pairs = {{{3, 4, 5, 6, 0}, {5, 3, 6, 4, 0}}, {{7, 8, 9, 0}, {9, 8, 7, 0}}, {{0}, {0}}};
  for (const int64_t layer : {0, 1}) {
    for (const int64_t head : {0, 1}) {
      const models::AlignmentHead found = best_alignment_head(pointing_model(kVocabulary, {layer, head}), pairs);
      EXPECT_EQ(found.layer, layer);
      EXPECT_EQ(found.head, head);
    }
  }
}

TEST(Alignment, WeightsAreThoseOfTheHead) {
  models::EncoderDecoder model = pointing_model(kVocabulary, {1, 1});
  const std::vector<int32_t> source = {3, 4, 5, 6, 0}, target = {5, 3, 6, 4};
  model.config.alignment = {1, 1};
  const Tensor weights = alignment_weights(model, source, target);
  ASSERT_EQ(weights.shape(), (Shape{4, 5}));
  // Each row looks at the token before: 5, 3 and 6 stand third, first and fourth in the source.
  for (const auto& [row, column] : {std::pair(1, 2), std::pair(2, 0), std::pair(3, 3)}) {
    EXPECT_EQ(largest(weights, row), column);
    EXPECT_GT(weights.data()[row * 5 + column], 0.9f);
  }
  // A blind head sees all alike.
  const Tensor blind = cross_weights(model, source, target, {1, 0});
  for (int64_t i = 0; i < blind.numel(); ++i) EXPECT_NEAR(blind.data()[i], 0.2f, 1e-6f);
}

}  // namespace
}  // namespace heed::decode
