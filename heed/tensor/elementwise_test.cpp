// Elementwise ops, sums, shapes and plain layers: their values, and every gradient against differences.
#include "heed/base/threads.h"
#include "heed/tensor/testing.h"

namespace heed {
namespace {

using namespace testing;

struct ShapePair {
  Shape a, b;
};

class Broadcasting : public ::testing::TestWithParam<ShapePair> {};

TEST_P(Broadcasting, GradientsSumOverWhatIsRepeated) {
  const Inputs in{random_leaf(GetParam().a, 1), random_leaf(GetParam().b, 2)};
  expect_gradients(in, [](const Inputs& x) { return x[0] + x[1]; });
  expect_gradients(in, [](const Inputs& x) { return x[0] - x[1]; });
  expect_gradients(in, [](const Inputs& x) { return x[0] * x[1]; });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Broadcasting,
                         ::testing::Values(ShapePair{{3, 4}, {3, 4}}, ShapePair{{3, 4}, {4}}, ShapePair{{4}, {3, 4}},
                                           ShapePair{{2, 1, 4}, {3, 1}}, ShapePair{{2, 3, 4}, {}}, ShapePair{{}, {}},
                                           ShapePair{{1, 1}, {5, 1}}, ShapePair{{2, 3, 4}, {2, 1, 4}}));

TEST(Elementwise, BroadcastValues) {
  const Tensor a = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}), row = Tensor::from({10, 20, 30}, {3}),
               column = Tensor::from({1, 2}, {2, 1});
  expect_values(a + row, {11, 22, 33, 14, 25, 36});
  expect_values(row - a, {9, 18, 27, 6, 15, 24});
  expect_values(a * column, {1, 2, 3, 8, 10, 12});
  expect_values(column * row, {10, 20, 30, 20, 40, 60});
  EXPECT_EQ((Tensor::zeros({0, 3}) + row).shape().str(), "(0,3)");
}

// Large enough for threads, whose number must not be seen.
TEST(Elementwise, LargeOnesAreTheSameWithAnyThreads) {
  struct Numbers {
    Tensor sum, difference, product, da, db;
  };
  for (const ShapePair& shapes :
       {ShapePair{{70000}, {70000}}, ShapePair{{700, 100}, {100}}, ShapePair{{700, 100}, {700, 1}},
        ShapePair{{1, 300}, {200, 1}}, ShapePair{{3, 5, 20000}, {5, 1}}, ShapePair{{}, {50000}}}) {
    const auto compute = [&](int threads) {
      set_num_threads(threads);
      const Tensor a = random_leaf(shapes.a, 1), b = random_leaf(shapes.b, 2);
      const Numbers n{a + b, a - b, a * b, {}, {}};
      sum(n.sum + 2.0f * n.difference + n.product * n.product).backward();
      set_num_threads(0);
      return Numbers{n.sum, n.difference, n.product, a.grad(), b.grad()};
    };
    const Numbers one = compute(1), three = compute(3);
    expect_same_bits(one.sum, three.sum);
    expect_same_bits(one.difference, three.difference);
    expect_same_bits(one.product, three.product);
    expect_same_bits(one.da, three.da);
    expect_same_bits(one.db, three.db);
    // Against the tables that repeating leaves, element by element.
    const Tensor zeros = Tensor::zeros(one.sum.shape()), a = random_tensor(shapes.a, 1) + zeros,
                 b = random_tensor(shapes.b, 2) + zeros;
    for (int64_t i = 0; i < a.numel(); ++i) {
      ASSERT_EQ(one.sum.data()[i], a.data()[i] + b.data()[i]);
      ASSERT_EQ(one.difference.data()[i], a.data()[i] - b.data()[i]);
      ASSERT_EQ(one.product.data()[i], a.data()[i] * b.data()[i]);
    }
  }
}

TEST(Elementwise, ScaleSumMean) {
  const Inputs in{random_leaf({3, 4}, 3)};
  expect_gradients(in, [](const Inputs& x) { return 2.5f * x[0]; });
  expect_gradients(in, [](const Inputs& x) { return sum(x[0]); });
  expect_gradients(in, [](const Inputs& x) { return mean(x[0]); });
  EXPECT_FLOAT_EQ(mean(Tensor::from({1, 2, 3, 6}, {2, 2})).item(), 3);
}

TEST(Elementwise, AnInputUsedTwiceGetsBothGradients) {
  const Inputs in{random_leaf({3, 4}, 4)};
  expect_gradients(in, [](const Inputs& x) { return x[0] + x[0]; });
  expect_gradients(in, [](const Inputs& x) { return x[0] - x[0] * x[0]; });
  expect_gradients(in, [](const Inputs& x) { return x[0] * x[0]; });
  expect_gradients(in, [](const Inputs& x) { return gate(x[0], x[0], Activation::kSilu); });
  expect_gradients(in, [](const Inputs& x) { return matmul(x[0], transpose(x[0], 0, 1)); });
}

// Column slices, whose rows lie apart, through ops that want them dense.
TEST(Elementwise, ColumnSlices) {
  const Inputs in{random_leaf({3, 7}, 5), random_leaf({3, 4}, 6)};
  const auto slice = [](const Tensor& x) { return columns(x, 2, 6); };
  expect_gradients(in, [&](const Inputs& x) { return slice(x[0]) + x[1]; });
  expect_gradients(in, [&](const Inputs& x) { return slice(x[0]) * slice(x[0]) + x[1]; });
  expect_gradients(in, [&](const Inputs& x) { return softmax(slice(x[0])) * x[1]; });
  expect_gradients(in, [&](const Inputs& x) { return activate(slice(x[0]), Activation::kGelu) + columns(x[0], 0, 4); });
  expect_gradients(in, [&](const Inputs& x) { return transpose(slice(x[0]), 0, 1); });
  expect_values(slice(Tensor::from({0, 1, 2, 3, 4, 5, 6}, {1, 7})), {2, 3, 4, 5});
}

TEST(Shapes, ReshapeAndTranspose) {
  const Inputs in{random_leaf({2, 3, 4}, 7)};
  expect_gradients(in, [](const Inputs& x) { return reshape(x[0], {4, 6}) * reshape(x[0], {4, 6}); });
  expect_gradients(in, [](const Inputs& x) { return transpose(x[0], 0, 2); });
  expect_gradients(in, [](const Inputs& x) { return transpose(x[0], -1, -2) * transpose(x[0], 2, 1); });
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_values(transpose(x, 0, 1), {1, 4, 2, 5, 3, 6});
  expect_same_bits(transpose(transpose(in[0], 0, 1), 0, 1).detach(), in[0]);
  EXPECT_EQ(reshape(x, {3, 2}).data(), x.data());  // the same numbers
}

TEST(Shapes, RowsSelected) {
  const Tensor in = random_leaf({4, 5}, 10);
  const std::vector<int32_t> rows{3, 0, 3};
  expect_gradients({in}, [&](const Inputs& x) { return select_rows(x[0], rows); });
  expect_gradients({in}, [&](const Inputs& x) { return select_rows(columns(x[0], 2, 5), rows); });
  expect_values(select_rows(Tensor::from({1, 2, 3, 4}, {2, 2}), std::vector<int32_t>{1, 1, 0}), {3, 4, 3, 4, 1, 2});
  std::vector<int32_t> changed{0, 1};  // by the caller, before the backward
  const Tensor x = random_leaf({2, 2}, 11), y = select_rows(x, changed);
  changed = {1 << 20, 1 << 20};
  y.backward(Tensor::from({1, 2, 3, 4}, {2, 2}));
  expect_values(x.grad(), {1, 2, 3, 4});
}

TEST(Products, MatmulBroadcastsLeadingDimensions) {
  const Inputs in{random_leaf({2, 1, 3, 4}, 11), random_leaf({3, 4, 2}, 12), random_leaf({4, 5}, 13)};
  expect_gradients({in[0], in[1]}, [](const Inputs& x) { return matmul(x[0], x[1]); });
  expect_gradients({in[0], in[2]}, [](const Inputs& x) { return matmul(x[0], x[1]); });
  const Tensor a = Tensor::from({1, 2, 3, 4}, {2, 2}), b = Tensor::from({5, 6, 7, 8}, {2, 2});
  expect_values(matmul(a, b), {19, 22, 43, 50});
}

// |x| stays a step away from ReLU's kink.
Tensor away_from_zero(const Shape& shape, uint64_t seed) {
  Tensor x = random_leaf(shape, seed);
  for (int64_t i = 0; i < x.numel(); ++i) x.data()[i] += x.data()[i] < 0 ? -0.1f : 0.1f;
  return x;
}

TEST(Layers, Activations) {
  for (const Activation act :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    SCOPED_TRACE(static_cast<int>(act));
    const Inputs in{away_from_zero({3, 5}, 14), random_leaf({3, 5}, 15)};
    expect_gradients({in[0]}, [&](const Inputs& x) { return activate(x[0], act); });
    expect_gradients(in, [&](const Inputs& x) { return gate(x[0], x[1], act); });
    expect_gradients({in[0]}, [&](const Inputs& x) { return gate(x[0], random_tensor({3, 5}, 16), act); });
    expect_gradients({in[0]}, [&](const Inputs& x) { return activate(x[0], act) + x[0]; });
  }
}

TEST(Layers, Softmax) {
  const Inputs in{random_leaf({3, 6}, 17)};
  expect_gradients(in, [](const Inputs& x) { return softmax(x[0]); });
  expect_gradients(in, [](const Inputs& x) { return log_softmax(x[0]) + x[0]; });
  expect_values(softmax(Tensor::from({2.0f, 1.0f, 0.1f}, {3})), {0.659001f, 0.242433f, 0.098566f}, 5e-7f);
}

TEST(Layers, Norms) {
  const Inputs in{random_leaf({4, 6}, 18), random_leaf({6}, 19), random_leaf({6}, 20)};
  expect_gradients(in, [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-5f); });
  expect_gradients({in[0], in[1]}, [](const Inputs& x) { return layer_norm(x[0], x[1], Tensor(), 1e-5f) + x[0]; });
  expect_gradients({in[0], in[1]}, [](const Inputs& x) { return rms_norm(x[0], x[1], 1e-6f); });
  // One gain for two norms: a parameter used twice.
  expect_gradients(in,
                   [](const Inputs& x) { return layer_norm(layer_norm(x[0], x[1], x[2], 1e-5f), x[1], x[2], 1e-5f); });
}

}  // namespace
}  // namespace heed
