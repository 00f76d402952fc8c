// How gradients find their way: accumulating, sharing, column slices, arenas, no-grad.
#include <pthread.h>

#include "heed/tensor/testing.h"

namespace heed {
namespace {

using testing::expect_gradients;
using testing::expect_values;
using testing::message_of;
using testing::random_leaf;
using Inputs = std::vector<Tensor>;

TEST(Autograd, GradientsAddUpOverBackwards) {
  Tensor x = Tensor::from({1, 2}, {2}).set_requires_grad();
  expect_values(x.grad(), {0, 0});
  sum(x * x).backward();
  sum(x * x).backward();
  expect_values(x.grad(), {4, 8});
  x.clear_grad();
  sum(x * x).backward();
  expect_values(x.grad(), {2, 4});
}

TEST(Autograd, ASharedGradientIsNotAddedToInPlace) {
  Tensor a = Tensor::from({1, 2}, {2}).set_requires_grad(), b = Tensor::from({3, 4}, {2}).set_requires_grad();
  const Tensor upstream = Tensor::from({1, 1}, {2});
  (a + b).backward(upstream);  // a, b and the caller share one gradient
  (2.0f * a).backward(upstream);
  expect_values(a.grad(), {3, 3});
  expect_values(b.grad(), {1, 1});
  expect_values(upstream, {1, 1});
}

TEST(Autograd, AnActivationDoesNotOverwriteAGradientThatOthersHold) {
  Tensor a = Tensor::from({1, -2}, {2}).set_requires_grad(), b = Tensor::from({3, 4}, {2}).set_requires_grad();
  const Tensor identity = Tensor::from({1, 0, 0, 1}, {2, 2}), upstream = Tensor::from({5, 7}, {1, 2});
  const Tensor live = linear(reshape(a, {1, 2}), {identity, Tensor()}, Activation::kRelu);
  (live + reshape(b, {1, 2})).backward(upstream);
  expect_values(a.grad(), {5, 0});
  expect_values(b.grad(), {5, 7});
  expect_values(upstream, {5, 7});
}

// A gradient handed over as rows of a larger one, then cleared, leaves no trace of where it lay.
TEST(Autograd, ClearedAfterAShareOfALargerGradient) {
  Tensor x = random_leaf({2, 2}, 2), y = Tensor::zeros({1});
  const Tensor larger = Tensor::from(std::vector<float>(10, 1.0f), {5, 2});
  on_backward(y, {x}, [&](const Tensor&) { x.add_grad(Tensor::view_of(larger.node()->values, 6, x.shape())); });
  y.backward();
  expect_values(x.grad(), {1, 1, 1, 1});
  x.clear_grad();
  sum(activate(x, Activation::kNone)).backward();
  expect_values(x.grad(), {1, 1, 1, 1});
  EXPECT_EQ(x.node()->grad_offset, 0);  // within its own memory
}

// On a thread whose stack is small.
void release_elsewhere(Tensor& x) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{256} << 10), 0);
  pthread_t thread{};
  const auto release = [](void* tensor) -> void* {
    *static_cast<Tensor*>(tensor) = Tensor();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, release, &x), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&small);
}

// Losses that are added up for an epoch: a history that is longer than a stack is deep.
TEST(Autograd, ALongHistoryIsReleasedWithoutAStack) {
  constexpr int kTerms = 50000;
  const Tensor x = Tensor::from({2}, {1}).set_requires_grad();
  const int64_t before = pool_stats().bytes_used;
  for (const bool backward : {false, true}) {
    Tensor total = x;
    for (int i = 1; i < kTerms; ++i) total = total + x;
    EXPECT_EQ(total.item(), 2.0f * kTerms);
    if (backward) total.backward();
    release_elsewhere(total);
  }
  expect_values(x.grad(), {kTerms});
  Tensor(x).clear_grad();
  EXPECT_EQ(pool_stats().bytes_used, before);
}

TEST(Autograd, SlicesWriteIntoTheirParent) {
  const Inputs in{random_leaf({3, 9}, 3)};
  const auto triple = [](const Tensor& x, int64_t a, int64_t b, int64_t c) {
    return columns(x, a, a + 3) * columns(x, b, b + 3) + columns(x, c, c + 3);
  };
  expect_gradients(in, [&](const Inputs& x) { return triple(x[0], 0, 3, 6); });         // all columns, each once
  expect_gradients(in, [&](const Inputs& x) { return triple(x[0], 6, 0, 0); });         // a hole, and one twice
  expect_gradients(in, [&](const Inputs& x) { return triple(x[0], 0, 2, 5); });         // overlapping
  expect_gradients(in, [&](const Inputs& x) { return triple(2.0f * x[0], 1, 5, 2); });  // of an inner node
  expect_gradients(in, [&](const Inputs& x) { return triple(x[0], 0, 3, 6) + columns(x[0] * x[0], 0, 3); });
}

TEST(Autograd, ASliceOfASlice) {
  const Inputs in{random_leaf({3, 9}, 4)};
  expect_gradients(in, [](const Inputs& x) {
    const Tensor middle = columns(x[0], 2, 8);
    return columns(middle, 1, 4) * columns(middle, 3, 6);
  });
  expect_gradients(in, [](const Inputs& x) { return columns(columns(x[0] * x[0], 2, 8), 1, 4); });
}

TEST(Autograd, MoreSlicesThanAreTracked) {
  const Inputs in{random_leaf({2, 24}, 5)};
  expect_gradients(in, [](const Inputs& x) {
    const Tensor y = x[0] * x[0];
    Tensor all = columns(y, 0, 2);
    for (int64_t c = 2; c < 24; c += 2) all = all + columns(y, c, c + 2);
    return all;
  });
}

TEST(Autograd, BackwardFromASlice) {
  Tensor x = Tensor::from({1, 2, 3, 4}, {2, 2}).set_requires_grad();
  columns(x * x, 1, 2).backward(Tensor::from({1, 1}, {2, 1}));
  expect_values(x.grad(), {0, 4, 0, 8});
}

TEST(Autograd, ParametersInAnArena) {
  const Buffer values(6), gradients(6);
  Tensor a = Tensor::view_of(values, 0, {3}).set_requires_grad(),
         b = Tensor::view_of(values, 3, {3}).set_requires_grad();
  a.set_grad_storage(gradients, 0);
  b.set_grad_storage(gradients, 3);
  for (int i = 0; i < 6; ++i) values.data()[i] = static_cast<float>(i + 1), gradients.data()[i] = 99;
  sum(a * b + a).backward();
  expect_values(Tensor::view_of(gradients, 0, {6}), {5, 6, 7, 1, 2, 3});
  sum(a).backward();
  expect_values(Tensor::view_of(gradients, 0, {6}), {6, 7, 8, 1, 2, 3});
  a.clear_grad();
  b.clear_grad();
  sum(a).backward();
  expect_values(a.grad(), {1, 1, 1});
  expect_values(b.grad(), {0, 0, 0});
}

TEST(Autograd, NoGradRecordsNothing) {
  Tensor x = Tensor::from({1, 2}, {2}).set_requires_grad();
  Tensor y;
  {
    const NoGrad no_grad;
    EXPECT_FALSE(grad_enabled());
    y = x * x;
    const NoGrad nested;
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE(y.requires_grad());
  EXPECT_FALSE((x.detach() * x.detach()).requires_grad());
  EXPECT_TRUE((x * x).requires_grad());
  EXPECT_EQ(message_of([&] { y.backward(Tensor::zeros({2})); }), "[backward] nothing here requires a gradient");
}

TEST(Autograd, AHistoryIsUsedOnce) {
  Tensor x = Tensor::from({1, 2}, {2}).set_requires_grad();
  const Tensor inner = x * x, y = sum(inner);
  y.backward();
  EXPECT_EQ(message_of([&] { y.backward(); }), "[backward] the history of shape () was used up by an earlier backward");
  EXPECT_EQ(message_of([&] { sum(inner).backward(); }),
            "[backward] the history of shape (2) was used up by an earlier backward");
}

TEST(Autograd, OrderOfUseDoesNotMatter) {
  const Inputs in{random_leaf({2, 3}, 6), random_leaf({2, 3}, 7)};
  // A diamond whose arms have different depths: every gradient must be whole before it goes on.
  expect_gradients(in, [](const Inputs& x) {
    const Tensor a = x[0] * x[1];
    Tensor deep = a;
    for (int i = 0; i < 5; ++i) deep = 0.9f * deep + a;
    return deep * a;
  });
}

TEST(Autograd, UnreachedLeavesHaveZeros) {
  Tensor x = random_leaf({2}, 8), other = random_leaf({3}, 9);
  sum(x).backward();
  expect_values(other.grad(), {0, 0, 0});
}

}  // namespace
}  // namespace heed
