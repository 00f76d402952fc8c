#include "heed/kernels/peak.h"

#include <chrono>

#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/peak.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Twelve independent chains hide the latency of an fma on every CPU that has one.
constexpr int kChains = 12;

float chains(int64_t rounds) {
  const Tag d;
  Native sum[kChains];
  for (auto& s : sum) s = hn::Set(d, 1.0f);
  const Native a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s = hn::MulAdd(s, a, b);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = hn::Add(sum[0], sum[i]);
  return hn::GetLane(sum[0]);
}

double flops_a_round() { return 2.0 * kChains * kNative; }

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(chains);
HWY_EXPORT(flops_a_round);

double fma_gflops(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 200000;
  const int threads = num_threads();
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    parallel_for(threads, 1, [&](int64_t, int64_t) {
      volatile float result = HWY_DYNAMIC_DISPATCH(chains)(kRounds);
      static_cast<void>(result);
    });
    const double spent = std::chrono::duration<double>(Clock::now() - before).count();
    const double speed = 1e-9 * threads * static_cast<double>(kRounds) * HWY_DYNAMIC_DISPATCH(flops_a_round)() / spent;
    best = speed > best ? speed : best;
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  return best;
}

}  // namespace heed::kernels
#endif
