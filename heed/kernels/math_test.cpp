// The vector functions of math-inl.h against double precision, on every target.
#include <bit>
#include <cmath>
#include <limits>

#include "heed/kernels/testing.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/math_test.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

void exp_test(float* y, const float* x, int64_t n) {
  by_sixteen(n, [=](int64_t i, auto lanes) HWY_ATTR { store(exp(load(x + i, lanes)), y + i, lanes); });
}
void log_test(float* y, const float* x, int64_t n) {
  by_sixteen(n, [=](int64_t i, auto lanes) HWY_ATTR { store(log(load(x + i, lanes)), y + i, lanes); });
}
void tanh_test(float* y, const float* x, int64_t n) {
  by_sixteen(n, [=](int64_t i, auto lanes) HWY_ATTR { store(tanh(load(x + i, lanes)), y + i, lanes); });
}
void erf_test(float* y, const float* x, int64_t n) {
  by_sixteen(n, [=](int64_t i, auto lanes) HWY_ATTR { store(erf(load(x + i, lanes)), y + i, lanes); });
}
// sum, largest and sum_of for the first n numbers, n = 0, 1, ...
void fold_test(float* y, const float* x, int64_t n) {
  for (int64_t i = 0; i + 2 < n; i += 3) {
    const int64_t m = i / 3;
    y[i] = m >= kWidth ? sum(load(x + m - kWidth)) : sum(load_n(x, m));
    y[i + 1] = m >= kWidth ? max_of(load(x + m - kWidth)) : max_of(load_n(x, m, -100.0f));
    y[i + 2] = sum(sum_of(m, [=](int64_t k, auto lanes) HWY_ATTR { return load(x + k, lanes); }));
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(exp_test);
HWY_EXPORT(log_test);
HWY_EXPORT(tanh_test);
HWY_EXPORT(erf_test);
HWY_EXPORT(fold_test);

namespace {

using namespace testing;

constexpr float kInf = std::numeric_limits<float>::infinity();

enum class Function { kExp, kLog, kTanh, kErf, kFold };

Floats run(Function function, const Floats& x) {
  Guarded y(static_cast<int64_t>(x.size()));
  const int64_t n = static_cast<int64_t>(x.size());
  switch (function) {
    case Function::kExp:
      HWY_DYNAMIC_DISPATCH(exp_test)(y.data(), x.data(), n);
      break;
    case Function::kLog:
      HWY_DYNAMIC_DISPATCH(log_test)(y.data(), x.data(), n);
      break;
    case Function::kTanh:
      HWY_DYNAMIC_DISPATCH(tanh_test)(y.data(), x.data(), n);
      break;
    case Function::kErf:
      HWY_DYNAMIC_DISPATCH(erf_test)(y.data(), x.data(), n);
      break;
    case Function::kFold:
      HWY_DYNAMIC_DISPATCH(fold_test)(y.data(), x.data(), n);
      break;
  }
  return y.values();
}

Floats range(float first, float last, int n) {
  Floats x;
  for (int i = 0; i <= n; ++i) x.push_back(first + (last - first) * (static_cast<float>(i) / static_cast<float>(n)));
  return x;
}

// The largest relative error, absolute where the true value is below `floor`.
double worst(Function function, const Floats& x, double (*exact)(double), double floor = 0) {
  const Floats y = run(function, x);
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double truth = exact(x[i]);
    if (truth == 0) continue;
    const double off = std::abs(y[i] - truth) / std::max(floor, std::abs(truth));
    if (std::isnan(off) || off > error) error = off;  // NaN is the worst, and stays
  }
  return error;
}

TEST(Math, ErrorsAreAFewUnitsInTheLastPlace) {
  on_every_target([] {
    EXPECT_LT(worst(Function::kExp, range(-87.3f, 88.7f, 300000), std::exp), 1.5e-7);
    EXPECT_LT(worst(Function::kExp, range(-1, 1, 100000), std::exp), 1.2e-7);
    EXPECT_LT(worst(Function::kLog, range(1e-3f, 4, 100000), std::log, 1e-3), 1.5e-7);
    EXPECT_LT(worst(Function::kLog, range(1.2e-38f, 3e38f, 100000), std::log), 1.5e-7);
    EXPECT_LT(worst(Function::kTanh, range(-12, 12, 300000), std::tanh), 2.5e-7);
    EXPECT_LT(worst(Function::kErf, range(-5, 5, 300000), std::erf), 2e-7);
  });
}

TEST(Math, TheEndsAreExact) {
  const float nan = std::nanf("");
  on_every_target([&] {
    expect_close(run(Function::kExp, {-kInf, kInf, 0, -100, 89, 1000, -1e30f, nan}),
                 {0, kInf, 1, 0, kInf, kInf, 0, nan}, 0);
    expect_close(run(Function::kLog, {0, 1, kInf, -1, nan}), {-kInf, 0, kInf, nan, nan}, 0);
    expect_close(run(Function::kTanh, {0, kInf, -kInf, 20, -20, nan}), {0, 1, -1, 1, -1, nan}, 0);
    expect_close(run(Function::kErf, {0, kInf, -kInf, 4, -4, 1e30f, nan}), {0, 1, -1, 1, -1, 1, nan}, 0);
  });
}

// Also those whose bits, taken for a number, would be one: memory full of 0xFF holds the first.
TEST(Math, EveryNaNStaysOne) {
  Floats x;
  for (const uint32_t bits : {0xFFFFFFFFu, 0x7FFFFFFFu, 0x7FC00001u, 0x7FC000FFu, 0xFFC00180u, 0x7F800001u}) {
    x.push_back(std::bit_cast<float>(bits));
  }
  on_every_target([&] {
    for (const Function function : {Function::kExp, Function::kLog, Function::kTanh, Function::kErf}) {
      for (const float y : run(function, x)) EXPECT_TRUE(std::isnan(y)) << static_cast<int>(function) << ": " << y;
    }
  });
}

TEST(Math, FoldsSumAndFindTheLargest) {
  const Floats x = random_floats(300, 9);
  on_every_target([&] {
    const Floats y = run(Function::kFold, x);
    for (size_t m = 0; m < 100; ++m) {
      const size_t first = m >= 16 ? m - 16 : 0;
      double sum = 0, all = 0;
      float top = -100;
      for (size_t i = first; i < m; ++i) {
        sum += x[i];
        top = std::max(top, x[i]);
      }
      for (size_t i = 0; i < m; ++i) all += x[i];
      EXPECT_NEAR(y[3 * m], sum, 2e-6);
      EXPECT_EQ(y[3 * m + 1], top);
      EXPECT_NEAR(y[3 * m + 2], all, 1e-5);
    }
  });
}

TEST(Math, SameBitsEverywhere) {
  const Floats x = range(-20, 20, 50001), positive = range(1e-6f, 50, 50001);
  for (const Function f : {Function::kExp, Function::kTanh, Function::kErf, Function::kFold}) {
    expect_same_everywhere([&] { return run(f, x); });
  }
  expect_same_everywhere([&] { return run(Function::kLog, positive); });
}

}  // namespace
}  // namespace heed::kernels
#endif
