#include "heed/tensor/grad_check.h"

#include "heed/tensor/testing.h"

namespace heed {
namespace {

using testing::random_leaf;

// x^2 elementwise, with a backward that is right when factor is 2.
Tensor square(const Tensor& x, float factor) {
  Tensor y = Tensor::empty(x.shape());
  for (int64_t i = 0; i < x.numel(); ++i) y.data()[i] = x.data()[i] * x.data()[i];
  on_backward(y, {x}, [x, factor](const Tensor& dy) {
    const GradTarget dx = x.zeroed_grad_target();
    for (int64_t i = 0; i < x.numel(); ++i) dx.data[i] += factor * x.data()[i] * dy.data()[i];
  });
  return y;
}

TEST(GradCheck, AcceptsARightGradient) {
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0], 2); };
  EXPECT_EQ(grad_check(f, {random_leaf({4, 5}, 1)}), "");
}

TEST(GradCheck, RejectsAGradientThatIsOnePercentOff) {
  const auto f = [](const std::vector<Tensor>& in) { return square(in[0], 2.02f); };
  EXPECT_NE(grad_check(f, {random_leaf({4, 5}, 1)}), "");
}

TEST(GradCheck, RejectsAMissingGradient) {
  const auto f = [](const std::vector<Tensor>& in) { return add(square(in[0], 2), in[1].detach()); };
  EXPECT_EQ(grad_check(f, {random_leaf({4, 5}, 1), random_leaf({4, 5}, 2)}).substr(0, 7), "input 1");
}

TEST(GradCheck, RejectsAGradientWhereThereIsNone) {
  const auto f = [](const std::vector<Tensor>& in) {
    Tensor y = Tensor::zeros({3});
    on_backward(y, {in[0]}, [x = in[0]](const Tensor& dy) { x.add_grad(dy); });
    return y;
  };
  EXPECT_NE(grad_check(f, {random_leaf({3}, 1)}), "");
}

}  // namespace
}  // namespace heed
