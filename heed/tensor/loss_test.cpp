// Gradients of the loss are computed with it, but only its backward may show them.
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using testing::expect_same_bits;
using testing::expect_values;
using testing::random_leaf;
using testing::random_tensor;

const std::vector<int32_t> kTargets{1, 4, -1, 0};

// A projection whose gradients lie in an arena, as those of a model do, or each in memory of its own.
struct Head {
  Tensor x = random_leaf({4, 3}, 1), weight = random_leaf({5, 3}, 2), bias = random_leaf({5}, 3);
  Buffer arena{20};
  explicit Head(bool in_arena) {
    if (!in_arena) return;
    weight.set_grad_storage(arena, 0);
    bias.set_grad_storage(arena, 15);
  }
  LossResult loss() const { return vocabulary_loss(x, {weight, bias}, kTargets, {.smoothing = 0.1f}); }
  void clear() {
    for (Tensor* t : {&x, &weight, &bias}) t->clear_grad();
  }
  void expect_times(float factor, const Head& once) const {
    const auto times = [&](const Tensor& t) {
      std::vector<float> values = t.to_vector();
      for (float& v : values) v *= factor;
      return values;
    };
    expect_values(x.grad(), times(once.x.grad()), 1e-6f);
    expect_values(weight.grad(), times(once.weight.grad()), 1e-6f);
    expect_values(bias.grad(), times(once.bias.grad()), 1e-6f);
  }
};

class LossGradients : public ::testing::TestWithParam<bool> {
 protected:
  LossGradients() : head(GetParam()), once(false) { once.loss().loss.backward(); }
  Head head, once;
};
INSTANTIATE_TEST_SUITE_P(InAnArenaOrNot, LossGradients, ::testing::Bool());

TEST_P(LossGradients, SurviveAClearBetweenForwardAndBackward) {
  const LossResult r = head.loss();
  head.clear();
  r.loss.backward();
  expect_same_bits(head.weight.grad(), once.weight.grad());
  head.expect_times(1, once);
}

TEST_P(LossGradients, AreNotThereWithoutABackward) {
  { const LossResult dropped = head.loss(); }
  const LossResult kept = head.loss();
  expect_values(head.weight.grad(), std::vector<float>(15));
  expect_values(head.bias.grad(), std::vector<float>(5));
  head.loss().loss.backward();
  head.expect_times(1, once);
}

TEST_P(LossGradients, AreMultipliedWithWhatArrives) {
  (0.5f * head.loss().loss).backward();
  head.expect_times(0.5f, once);
}

TEST_P(LossGradients, AddUpOverLossesAndBackwards) {
  const LossResult a = head.loss(), b = head.loss();
  (a.loss + 2.0f * b.loss).backward();
  head.expect_times(3, once);
  head.loss().loss.backward();
  head.expect_times(4, once);
}

TEST_P(LossGradients, AreUntouchedByABackwardInBetween) {
  const LossResult r = head.loss();
  sum(head.weight).backward();
  const LossResult later = head.loss();
  r.loss.backward();
  std::vector<float> expected = once.weight.grad().to_vector();
  for (float& v : expected) v += 1;
  expect_values(head.weight.grad(), expected, 1e-6f);
  head.clear();
  later.loss.backward();
  head.expect_times(1, once);
}

TEST_P(LossGradients, OfNoTokensAreZeros) {
  const std::vector<int32_t> none;
  std::fill_n(head.arena.data(), 20, 7.0f);
  vocabulary_loss(random_leaf({0, 3}, 1), {head.weight, head.bias}, none).loss.backward();
  expect_values(head.weight.grad(), std::vector<float>(15));
  expect_values(head.bias.grad(), std::vector<float>(5));
}

TEST(LossGradientsOf, AWeightThatIsASlice) {
  Tensor wide = random_leaf({5, 7}, 2);
  Tensor copy = Tensor::from(columns(wide, 2, 5).to_vector(), {5, 3}).set_requires_grad();
  const Tensor x = random_tensor({4, 3}, 1);
  vocabulary_loss(x, {columns(wide, 2, 5), {}}, kTargets).loss.backward();
  vocabulary_loss(x, {copy, {}}, kTargets).loss.backward();
  expect_same_bits(contiguous(columns(wide.grad(), 2, 5)), copy.grad());
}

}  // namespace
}  // namespace heed
