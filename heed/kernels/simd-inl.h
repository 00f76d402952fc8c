// Sixteen floats as one value on every CPU: one AVX-512 register, two of AVX2, four of the baseline.
// Kernels written with it add in the same order everywhere, so their bits do not depend on the CPU
// (as long as it multiplies and adds in one rounding; the baseline does not).
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SIMD_INL_H_
#undef HEED_KERNELS_SIMD_INL_H_
#else
#define HEED_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Native = hn::Vec<Tag>;
constexpr int kWidth = 16;
constexpr int kNative = static_cast<int>(hn::MaxLanes(Tag()));  // lanes of one register
constexpr int kParts = kWidth / kNative;

struct F16 {
  Native part[kParts];
};

#define HEED_EACH_PART for (int i = 0; i < kParts; ++i)

HWY_INLINE F16 set(float x) {
  F16 r;
  HEED_EACH_PART r.part[i] = hn::Set(Tag(), x);
  return r;
}
HWY_INLINE F16 zero() { return set(0.0f); }
HWY_INLINE F16 load(const float* p) {
  F16 r;
  HEED_EACH_PART r.part[i] = hn::LoadU(Tag(), p + i * kNative);
  return r;
}
HWY_INLINE void store(F16 x, float* p) {
  HEED_EACH_PART hn::StoreU(x.part[i], Tag(), p + i * kNative);
}
// The first n of sixteen; the others read as `rest` and are not touched in memory.
HWY_INLINE F16 load_n(const float* p, int64_t n, float rest = 0.0f) {
  alignas(64) float t[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) t[i] = i < n ? p[i] : rest;
  return load(t);
}
HWY_INLINE void store_n(F16 x, float* p, int64_t n) {
  alignas(64) float t[kWidth];
  store(x, t);
  for (int64_t i = 0; i < n; ++i) p[i] = t[i];
}

HWY_INLINE F16 operator+(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Add(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE F16 operator-(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Sub(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE F16 operator*(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Mul(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE F16 operator/(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Div(a.part[i], b.part[i]);
  return a;
}
// a * b + c in one rounding
HWY_INLINE F16 fma(F16 a, F16 b, F16 c) {
  HEED_EACH_PART c.part[i] = hn::MulAdd(a.part[i], b.part[i], c.part[i]);
  return c;
}
HWY_INLINE F16 max(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Max(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE F16 min(F16 a, F16 b) {
  HEED_EACH_PART a.part[i] = hn::Min(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE F16 sqrt(F16 a) {
  HEED_EACH_PART a.part[i] = hn::Sqrt(a.part[i]);
  return a;
}

// Sums halves onto halves (16 -> 8 -> 4 -> 2 -> 1), the same tree on every target.
template <class Combine>
HWY_INLINE float fold(F16 x, Combine combine) {
  alignas(64) float t[kWidth];
  store(x, t);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) t[i] = combine(t[i], t[i + half]);
  }
  return t[0];
}
HWY_INLINE float sum(F16 x) {
  return fold(x, [](float a, float b) { return a + b; });
}
HWY_INLINE float max_of(F16 x) {
  return fold(x, [](float a, float b) { return a > b ? a : b; });
}

#undef HEED_EACH_PART

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
