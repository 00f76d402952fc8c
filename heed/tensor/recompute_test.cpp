// Activation checkpointing: the same numbers and gradients, with nothing kept inside.
#include "heed/tensor/recompute.h"

#include "heed/tensor/testing.h"

namespace heed {
namespace {

using testing::expect_gradients;
using testing::expect_same_bits;
using testing::expect_values;
using testing::random_leaf;
using Inputs = std::vector<Tensor>;

TEST(Recompute, GradientsOfInputsAndParameters) {
  const Inputs in{random_leaf({3, 4}, 1), random_leaf({3, 4}, 2), random_leaf({3, 4}, 3)};
  expect_gradients(in, [](const Inputs& x) {
    return recomputed(x[0] * x[0], x[1], [w = x[2]](const Tensor& h, const Tensor& memory) {
      const Tensor inside = h * w;
      return inside * inside + memory * h;
    });
  });
}

TEST(Recompute, OneInsideAnother) {
  const Inputs in{random_leaf({2, 3}, 1), random_leaf({2, 3}, 2)};
  expect_gradients(in, [](const Inputs& x) {
    return recomputed(x[0], x[1], [](const Tensor& a, const Tensor& b) {
      const Tensor inner = recomputed(a * b, Tensor(), [](const Tensor& c, const Tensor&) { return c * c; });
      return inner + a;
    });
  });
}

TEST(Recompute, ColumnsGoInAndComeOut) {
  const Inputs in{random_leaf({3, 6}, 5)};
  expect_gradients(in, [](const Inputs& x) {
    const Tensor y =
        recomputed(columns(x[0], 1, 5), Tensor(), [](const Tensor& h, const Tensor&) { return columns(h * h, 1, 3); });
    return y * columns(x[0], 0, 2);
  });
}

TEST(Recompute, APartThatDoesNothing) {
  Tensor x = Tensor::from({1, 2}, {2}).set_requires_grad();
  const Tensor y = recomputed(x * x, Tensor(), [](const Tensor& h, const Tensor&) { return h; });
  sum(y).backward();
  expect_values(x.grad(), {2, 4});
}

TEST(Recompute, APartWithoutHistoryHasNoGradient) {
  Tensor x = Tensor::from({1, 2}, {2}).set_requires_grad();
  const Tensor y = recomputed(x, Tensor(), [](const Tensor&, const Tensor&) { return Tensor::from({3, 4}, {2}); });
  sum(y * x).backward();
  expect_values(x.grad(), {3, 4});
}

TEST(Recompute, RunsTwiceWithAGradientAndOnceWithout) {
  int runs = 0;
  const auto part = [&runs](const Tensor& h, const Tensor&) { return ++runs, h * h; };
  Tensor x = random_leaf({2}, 1);
  sum(recomputed(x, Tensor(), part)).backward();
  EXPECT_EQ(runs, 2);
  {
    const NoGrad no_grad;
    recomputed(x, Tensor(), part);
  }
  EXPECT_EQ(runs, 3);
  recomputed(x.detach(), Tensor(), part);
  EXPECT_EQ(runs, 4);
}

TEST(Recompute, KeepsNothingOfTheInside) {
  constexpr int64_t kNumbers = 1 << 16, kOps = 20;
  const Tensor x = random_leaf({kNumbers}, 1);
  const auto part = [](const Tensor& input, const Tensor&) {
    Tensor h = input;
    for (int64_t i = 0; i < kOps; ++i) h = activate(h, Activation::kSilu);
    return h;
  };
  const int64_t before = pool_stats().bytes_used;
  const Tensor kept = part(x, Tensor());
  const int64_t whole = pool_stats().bytes_used - before;
  const Tensor once = recomputed(x, Tensor(), part);
  const int64_t checkpointed = pool_stats().bytes_used - before - whole;
  EXPECT_GT(whole, kOps * kNumbers * 4);
  EXPECT_LT(checkpointed, 2 * kNumbers * 4);
  expect_same_bits(kept, once);
}

// In the second run of the part, and in the backward of what it made.
TEST(Recompute, AnErrorInsideABackwardLeavesTheNextOneWhole) {
  Tensor x = Tensor::from({3}, {1}).set_requires_grad();
  int runs = 0;
  const auto breaks_again = [&runs](const Tensor& h, const Tensor&) {
    if (++runs == 2) throw std::runtime_error("broken off");
    return h * h;
  };
  const auto breaks_backward = [](const Tensor& h, const Tensor&) {
    Tensor y = Tensor::from({h.item()}, {1});
    on_backward(y, {h}, [](const Tensor&) { throw std::runtime_error("broken off"); });
    return y * h;
  };
  const int64_t before = pool_stats().bytes_used;
  EXPECT_THROW(sum(recomputed(x * x, Tensor(), breaks_again)).backward(), std::runtime_error);
  EXPECT_THROW(sum(recomputed(x * x, Tensor(), breaks_backward)).backward(), std::runtime_error);
  EXPECT_TRUE(grad_enabled());
  x.clear_grad();
  EXPECT_EQ(pool_stats().bytes_used, before);
  const auto square = [](const Tensor& h, const Tensor&) { return h * h; };
  sum(recomputed(x * x, Tensor(), square)).backward();
  expect_values(x.grad(), {108});
}

}  // namespace
}  // namespace heed
