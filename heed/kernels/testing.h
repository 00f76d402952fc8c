// What the tests of kernels share: random numbers, guarded outputs, and runs on every target and thread count.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace heed::kernels::testing {

using Floats = std::vector<float>;

inline Floats random_floats(int64_t n, uint64_t seed, float size = 1.0f) {
  Random random(seed);
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = size * random.normal();
  return x;
}

// An output with a known margin on both sides, which the kernel must leave alone.
class Guarded {
 public:
  explicit Guarded(int64_t n, float value = 0.0f) : all_(static_cast<size_t>(n) + 2 * kMargin, kSentinel) {
    std::fill(all_.begin() + kMargin, all_.end() - kMargin, value);
  }
  explicit Guarded(const Floats& x) : Guarded(static_cast<int64_t>(x.size())) {
    std::copy(x.begin(), x.end(), all_.begin() + kMargin);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    for (size_t i = 0; i < kMargin; ++i) {
      EXPECT_EQ(all_[i], kSentinel) << "written before the start";
      EXPECT_EQ(all_[all_.size() - 1 - i], kSentinel) << "written past the end";
    }
  }
  float* data() { return all_.data() + kMargin; }
  Floats values() const { return Floats(all_.begin() + kMargin, all_.end() - kMargin); }

 private:
  static constexpr ptrdiff_t kMargin = 17;
  static constexpr float kSentinel = 12345.0f;
  Floats all_;
};

// |a - b| <= tolerance * max(1, |b|) everywhere; infinities and NaN must agree.
inline void expect_close(const Floats& found, const Floats& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double a = found[i], b = expected[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b))) << "at " << i << ": " << a << ", expected " << b;
  }
}

inline void expect_same_bits(const Floats& found, const Floats& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << "at " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

// Only the given target of Highway for the rest of the scope.
class OnlyTarget {
 public:
  explicit OnlyTarget(int64_t target) { choose(target); }
  ~OnlyTarget() { choose(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
};

// Those that promise equal bits: what this CPU has of AVX-512 and AVX2.
inline std::vector<int64_t> equal_targets() {
  std::vector<int64_t> targets;
  for (const int64_t target : {HWY_AVX3, HWY_AVX2}) {
    if (hwy::SupportedTargets() & target) targets.push_back(target);
  }
  hwy::GetChosenTarget().DeInit();  // SupportedTargets() left the widest chosen, whatever HEED_MAX_ISA says
  return targets;
}

// run() on each of them and on the baseline, for comparison with a reference.
inline void on_every_target(const std::function<void()>& run) {
  std::vector<int64_t> targets = equal_targets();
  targets.push_back(HWY_SCALAR);
  for (const int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    run();
  }
}

// run() must give the same bits at 1, 2 and 3 threads and on AVX-512 as on AVX2.
inline void expect_same_everywhere(const std::function<Floats()>& run) {
  const int before = num_threads();
  std::vector<Floats> results;
  for (const int64_t target : equal_targets()) {
    const OnlyTarget only(target);
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << hwy::TargetName(target) << ", threads " << threads);
      set_num_threads(threads);
      results.push_back(run());
      expect_same_bits(results.back(), results.front());
    }
  }
  set_num_threads(before);
}

// dx of `loss`, a sum over outputs weighted by dy, by central differences of forward(x) -> y.
inline Floats finite_differences(Floats x, const Floats& dy, const std::function<Floats(const Floats&)>& forward,
                                 float h = 1e-2f) {
  Floats dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float at = x[i];
    x[i] = at + h;
    const Floats above = forward(x);
    const float high = x[i];
    x[i] = at - h;
    const Floats below = forward(x);
    const double width = double{high} - x[i];
    x[i] = at;
    double change = 0;
    for (size_t k = 0; k < dy.size(); ++k) change += (double{above[k]} - below[k]) * dy[k];
    dx[i] = static_cast<float>(change / width);
  }
  return dx;
}

}  // namespace heed::kernels::testing
