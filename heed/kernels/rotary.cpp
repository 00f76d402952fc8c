#include "heed/kernels/rotary.h"

#include <algorithm>
#include <cmath>

#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/rotary.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// One head's pairs (i, i + half).
template <bool kAccumulate>
HWY_INLINE void turn_halves(float* y, const float* x, const float* cos, const float* sin, int64_t half, float sign) {
  const Floats16 s = set(sign);
  by_sixteen(half, [=](int64_t i, auto lanes) HWY_ATTR {
    const Floats16 a = load(x + i, lanes), b = load(x + half + i, lanes);
    const Floats16 c = load(cos + i, lanes), d = load(sin + i, lanes) * s;
    Floats16 p = a * c - b * d, q = a * d + b * c;
    if constexpr (kAccumulate) {
      p = p + load(y + i, lanes);
      q = q + load(y + half + i, lanes);
    }
    store(p, y + i, lanes);
    store(q, y + half + i, lanes);
  });
}

// One head's pairs (2i, 2i + 1).
template <bool kAccumulate>
HWY_INLINE void turn_neighbours(float* y, const float* x, const float* cos, const float* sin, int64_t half,
                                float sign) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  for (; i + kNative <= half; i += kNative) {
    Native a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const Native c = hn::LoadU(d, cos + i), s = hn::Mul(hn::LoadU(d, sin + i), hn::Set(d, sign));
    Native p = hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), q = hn::Add(hn::Mul(a, s), hn::Mul(b, c));
    if constexpr (kAccumulate) {
      hn::LoadInterleaved2(d, y + 2 * i, a, b);
      p = hn::Add(p, a);
      q = hn::Add(q, b);
    }
    hn::StoreInterleaved2(p, q, d, y + 2 * i);
  }
#endif
  for (; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1], c = cos[i], s = sin[i] * sign;
    const float p = a * c - b * s, q = a * s + b * c;
    y[2 * i] = kAccumulate ? p + y[2 * i] : p;
    y[2 * i + 1] = kAccumulate ? q + y[2 * i + 1] : q;
  }
}

template <bool kAccumulate>
HWY_INLINE void turn_rows(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r) {
  const int64_t half = r.turned / 2, width = r.heads * r.D;
  const float sign = r.inverse ? -1.0f : 1.0f;
  parallel_for(r.T, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)),
               [&](int64_t begin, int64_t end) HWY_ATTR {
                 for (int64_t t = begin; t < end; ++t) {
                   const float* cos = r.cos + static_cast<int64_t>(r.position_of_row[t]) * half;
                   const float* sin = r.sin + static_cast<int64_t>(r.position_of_row[t]) * half;
                   for (int64_t h = 0; h < width; h += r.D) {
                     float* to = y + t * ldy + h;
                     const float* from = x + t * ldx + h;
                     if (r.interleaved) {
                       turn_neighbours<kAccumulate>(to, from, cos, sin, half, sign);
                     } else {
                       turn_halves<kAccumulate>(to, from, cos, sin, half, sign);
                     }
                     by_sixteen(r.D - r.turned, [&](int64_t i, auto lanes) HWY_ATTR {
                       const Floats16 v = load(from + r.turned + i, lanes);
                       store(kAccumulate ? v + load(to + r.turned + i, lanes) : v, to + r.turned + i, lanes);
                     });
                   }
                 }
               });
}

void rotary_rows(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r, bool accumulate) {
  accumulate ? turn_rows<true>(y, ldy, x, ldx, r) : turn_rows<false>(y, ldy, x, ldx, r);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(rotary_rows);

void rotary(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(rotary_rows)(y, ldy, x, ldx, r, accumulate);
}

std::vector<float> rotary_frequencies(int64_t turned, double base) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < turned / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(turned);
    const auto power = static_cast<float>(std::pow(double{static_cast<float>(base)}, double{exponent}));
    frequencies.push_back(1.0f / power);
  }
  return frequencies;
}

void rotary_tables(float* cos, float* sin, int64_t P, std::span<const float> frequencies) {
  const auto half = static_cast<int64_t>(frequencies.size());
  for (int64_t i = 0; i < half; ++i) {
    const float frequency = frequencies[static_cast<size_t>(i)];
    for (int64_t p = 0; p < P; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      cos[p * half + i] = static_cast<float>(std::cos(double{angle}));
      sin[p * half + i] = static_cast<float>(std::sin(double{angle}));
    }
  }
}

}  // namespace heed::kernels
#endif
