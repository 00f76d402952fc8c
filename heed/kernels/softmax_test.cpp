#include "heed/kernels/softmax.h"

#include <bit>
#include <limits>

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();

using Forward = void (*)(float*, const float*, int64_t, int64_t);
using Backward = void (*)(float*, const float*, const float*, int64_t, int64_t, bool);

Floats forward(Forward f, const Floats& x, int64_t T, int64_t C) {
  Guarded y(T * C, 7.0f);
  f(y.data(), x.data(), T, C);
  return y.values();
}

Floats backward(Backward f, const Floats& y, const Floats& dy, int64_t T, int64_t C, bool accumulate) {
  Guarded dx(Floats(y.size(), 0.5f));
  f(dx.data(), y.data(), dy.data(), T, C, accumulate);
  return dx.values();
}

const std::vector<std::pair<int64_t, int64_t>> kShapes = {{0, 5},  {3, 0},    {1, 1},    {4, 1},    {3, 2},
                                                          {5, 15}, {2, 16},   {7, 17},   {3, 31},   {2, 64},
                                                          {9, 65}, {33, 100}, {3, 1000}, {700, 50}, {2, 5003}};

TEST(Softmax, GivesTheKnownNumbers) {
  const Floats x = {2.0f, 1.0f, 0.1f};
  on_every_target([&] {
    expect_close(forward(softmax, x, 1, 3), {0.659001f, 0.242433f, 0.098566f}, 1e-6);
    expect_close(forward(log_softmax, x, 1, 3), {-0.417030f, -1.417030f, -2.317030f}, 1e-6);
  });
}

TEST(Softmax, AgreesWithItsReference) {
  on_every_target([] {
    for (const auto& [T, C] : kShapes) {
      const Floats x = random_floats(T * C, 1, 4.0f), dy = random_floats(T * C, 2);
      const Floats y = forward(softmax_reference, x, T, C), log_y = forward(log_softmax_reference, x, T, C);
      expect_close(forward(softmax, x, T, C), y, 1e-6);
      expect_close(forward(log_softmax, x, T, C), log_y, 1e-6);
      for (const bool accumulate : {false, true}) {
        expect_close(backward(softmax_backward, y, dy, T, C, accumulate),
                     backward(softmax_backward_reference, y, dy, T, C, accumulate), 2e-6);
        expect_close(backward(log_softmax_backward, log_y, dy, T, C, accumulate),
                     backward(log_softmax_backward_reference, log_y, dy, T, C, accumulate), 1e-5);
      }
    }
  });
}

TEST(Softmax, HugeNumbersAreStable) {
  on_every_target([] {
    expect_close(forward(softmax, {1e30f, -1e30f, 1e30f, 0}, 1, 4), {0.5f, 0, 0.5f, 0}, 0);
    expect_close(forward(softmax, {-1e30f, -1e30f}, 1, 2), {0.5f, 0.5f}, 0);
    expect_close(forward(softmax, {3e38f, -3e38f}, 1, 2), {1, 0}, 0);
    expect_close(forward(log_softmax, {1e30f, -1e30f}, 1, 2), {0, -2e30f}, 1e-6);
  });
}

TEST(Softmax, MaskedElementsAndRows) {
  on_every_target([] {
    expect_close(forward(softmax, {1, -kInf, 1, -kInf, -kInf, -kInf}, 2, 3), {0.5f, 0, 0.5f, 0, 0, 0}, 0);
    for (const int64_t C : {1, 16, 37}) {
      const Floats masked(static_cast<size_t>(C), -kInf), dy = random_floats(C, 3);
      const Floats y = forward(softmax, masked, 1, C);
      expect_close(y, Floats(masked.size(), 0.0f), 0);
      expect_close(backward(softmax_backward, y, dy, 1, C, false), y, 0);
      expect_close(forward(log_softmax, masked, 1, C), masked, 0);
    }
  });
}

TEST(Softmax, NaNIsNotHidden) {
  on_every_target([] {
    for (const float nan : {std::nanf(""), std::bit_cast<float>(0xFFFFFFFFu), std::bit_cast<float>(0x7FC00001u)}) {
      for (const float v : forward(softmax, {1, nan, 2}, 1, 3)) EXPECT_TRUE(std::isnan(v));
    }
  });
}

TEST(Softmax, WorksInPlace) {
  const Floats x = random_floats(3 * 37, 4);
  Floats in_place = x;
  softmax(in_place.data(), in_place.data(), 3, 37);
  expect_same_bits(in_place, forward(softmax, x, 3, 37));
}

TEST(Softmax, BackwardIsTheDerivative) {
  const int64_t T = 2, C = 19;
  const Floats x = random_floats(T * C, 5), dy = random_floats(T * C, 6);
  const std::vector<std::pair<Forward, Backward>> both = {{softmax_reference, softmax_backward},
                                                          {log_softmax_reference, log_softmax_backward}};
  for (const auto& functions : both) {
    const auto run = [&](const Floats& at) { return forward(functions.first, at, T, C); };
    expect_close(backward(functions.second, run(x), dy, T, C, false), finite_differences(x, dy, run), 2e-3);
  }
}

TEST(Softmax, SameBitsEverywhere) {
  const int64_t T = 301, C = 203;
  const Floats x = random_floats(T * C, 7, 3.0f), dy = random_floats(T * C, 8);
  expect_same_everywhere([&] { return forward(softmax, x, T, C); });
  expect_same_everywhere([&] { return forward(log_softmax, x, T, C); });
  const Floats y = forward(softmax, x, T, C), log_y = forward(log_softmax, x, T, C);
  expect_same_everywhere([&] { return backward(softmax_backward, y, dy, T, C, true); });
  expect_same_everywhere([&] { return backward(log_softmax_backward, log_y, dy, T, C, true); });
}

}  // namespace
}  // namespace heed::kernels
