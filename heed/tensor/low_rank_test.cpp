// What LoRA adds to a linear map.
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

TEST(LowRank, GradientsOfAllThatGoesIn) {
  const Inputs in{random_leaf({5, 6}, 1), random_leaf({5, 4}, 2), random_leaf({2, 4}, 3), random_leaf({3, 2}, 4)};
  for (const int64_t column : {0, 2, 3}) {
    expect_gradients(in, [&](const Inputs& x) { return add_low_rank(x[0], x[1], {x[2], x[3], 1.5f, column}); });
  }
  // In the memory of the map that it is added to, twice, and one input for both.
  const Tensor weight = random_leaf({6, 4}, 5);
  expect_gradients({in[1], in[2], in[3], weight}, [](const Inputs& x) {
    Tensor y = add_low_rank(linear(x[0], {x[3], Tensor()}), x[0], {x[1], x[2], 0.5f, 0});
    return add_low_rank(std::move(y), x[0], {x[1], x[2], 2, 3});
  });
}

TEST(LowRank, IsTheSumOfItsProducts) {
  const Tensor x = random_tensor({7, 9}, 1), y = random_tensor({7, 5}, 2), a = random_tensor({3, 9}, 3),
               b = random_tensor({5, 3}, 4);
  const Tensor expected = y + 2.0f * matmul(matmul(x, transpose(a, 0, 1)), transpose(b, 0, 1));
  const std::vector<float> before = y.to_vector();
  expect_values(add_low_rank(y, x, {a, b, 2}), expected.to_vector(), 1e-4f);
  EXPECT_EQ(y.to_vector(), before);  // someone else holds it
  // A slice of someone's columns, too.
  const Tensor wide = random_tensor({7, 8}, 5);
  const std::vector<float> kept = wide.to_vector();
  const Tensor part = columns(wide, 2, 7);
  expect_values(add_low_rank(columns(wide, 2, 7), x, {a, b, 2}), (contiguous(part) + (expected - y)).to_vector(),
                1e-4f);
  EXPECT_EQ(wide.to_vector(), kept);
}

TEST(LowRank, TakesTheMemoryOfWhatNobodyElseHolds) {
  const Tensor x = random_tensor({7, 9}, 1), w = random_tensor({5, 9}, 2), a = random_leaf({3, 9}, 3),
               b = random_leaf({5, 3}, 4);
  Tensor y = linear(x, {w, Tensor()});
  const float* const memory = y.data();
  const Tensor sum = add_low_rank(std::move(y), x, {a, b, 1});
  EXPECT_EQ(sum.data(), memory);
  // What an activation still needs is not touched.
  Tensor live = linear(x, {w.detach().set_requires_grad(), Tensor()}, Activation::kRelu);
  const float* const kept = live.data();
  EXPECT_NE(add_low_rank(std::move(live), x, {a, b, 1}).data(), kept);
}

TEST(LowRank, WrongShapesAreOneLine) {
  const Tensor x = random_tensor({3, 4}, 1), y = random_tensor({3, 5}, 2), a = random_tensor({2, 4}, 3),
               b = random_tensor({5, 2}, 4);
  const auto refusal = [&](const Tensor& to, const Tensor& from, const LowRankWeight& w) {
    return message_of([&] { add_low_rank(to, from, w); });
  };
  EXPECT_EQ(refusal(y, x, {a, random_tensor({5, 3}, 5)}), "[add_low_rank] a of rank 2 and b of rank 3");
  EXPECT_EQ(refusal(y, x, {a, b, 1, 1}), "[add_low_rank] 5 columns from 1 on: y has 5");
  EXPECT_EQ(refusal(y, y, {a, b}), "[add_low_rank] input has shape (3,5): expected 4 in the last dimension");
  EXPECT_EQ(refusal(random_tensor({2, 5}, 6), x, {a, b}), "[add_low_rank] y has shape (2,5): expected 3 rows");
}

}  // namespace
}  // namespace heed
