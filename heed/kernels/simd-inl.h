// Sixteen floats as one value on every CPU: one AVX-512 register, two of AVX2, single numbers on the baseline.
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

#include "heed/kernels/isa.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Native = hn::Vec<Tag>;
constexpr int kWidth = 16;
constexpr int kNative = static_cast<int>(hn::MaxLanes(Tag()));  // lanes of one register
constexpr int kParts = kWidth / kNative;

struct Floats16 {
  Native part[kParts];
};

#define HEED_EACH_PART for (int i = 0; i < kParts; ++i)

HWY_INLINE Floats16 set(float x) {
  Floats16 r;
  HEED_EACH_PART r.part[i] = hn::Set(Tag(), x);
  return r;
}
HWY_INLINE Floats16 zero() { return set(0.0f); }
HWY_INLINE Floats16 load(const float* p) {
  Floats16 r;
  HEED_EACH_PART r.part[i] = hn::LoadU(Tag(), p + i * kNative);
  return r;
}
HWY_INLINE void store(Floats16 x, float* p) { HEED_EACH_PART hn::StoreU(x.part[i], Tag(), p + i * kNative); }
// Native loads and stores of the baseline may touch what a mask leaves out; it goes through memory instead.
#if HWY_TARGET > HWY_AVX2
#define HEED_MASKS_IN_MEMORY 1
#else
#define HEED_MASKS_IN_MEMORY 0
#endif
HWY_INLINE hn::Mask<Tag> first_lanes(int64_t n, int i) {
  const int64_t left = n - i * kNative;
  return hn::FirstN(Tag(), static_cast<size_t>(left > 0 ? left : 0));
}
// The first n of sixteen; the others read as `rest` and are not touched in memory.
HWY_INLINE Floats16 load_n(const float* p, int64_t n, float rest = 0.0f) {
  Floats16 r;
#if HEED_MASKS_IN_MEMORY
  alignas(64) float t[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) t[i] = i < n ? p[i] : rest;
  r = load(t);
#else
  HEED_EACH_PART {
    const auto inside = first_lanes(n, i);
    r.part[i] = hn::MaskedLoad(inside, Tag(), p + i * kNative);
    if (!__builtin_constant_p(rest) || rest != 0.0f) {
      r.part[i] = hn::IfThenElse(inside, r.part[i], hn::Set(Tag(), rest));
    }
  }
#endif
  return r;
}
HWY_INLINE void store_n(Floats16 x, float* p, int64_t n) {
#if HEED_MASKS_IN_MEMORY
  alignas(64) float t[kWidth];
  store(x, t);
  for (int64_t i = 0; i < n; ++i) p[i] = t[i];
#else
  HEED_EACH_PART hn::BlendedStore(x.part[i], first_lanes(n, i), Tag(), p + i * kNative);
#endif
}
#undef HEED_MASKS_IN_MEMORY

// How many of sixteen lanes a step of a loop is about, as a type: whole steps cost no masks.
struct Whole {};
struct First {
  int64_t n;
};
HWY_INLINE Floats16 load(const float* p, Whole, float = 0.0f) { return load(p); }
HWY_INLINE Floats16 load(const float* p, First first, float rest = 0.0f) { return load_n(p, first.n, rest); }
HWY_INLINE void store(Floats16 x, float* p, Whole) { store(x, p); }
HWY_INLINE void store(Floats16 x, float* p, First first) { store_n(x, p, first.n); }

// step(i, lanes) for i = 0, 16, 32, ... < n
template <class Step>
HWY_INLINE void by_sixteen(int64_t n, Step step) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) step(i, Whole());
  if (i < n) step(i, First{n - i});
}

HWY_INLINE Floats16 operator+(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = hn::Add(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE Floats16 operator-(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = hn::Sub(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE Floats16 operator*(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = hn::Mul(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE Floats16 operator/(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = hn::Div(a.part[i], b.part[i]);
  return a;
}
// a * b + c in one rounding
HWY_INLINE Floats16 fma(Floats16 a, Floats16 b, Floats16 c) {
  HEED_EACH_PART c.part[i] = hn::MulAdd(a.part[i], b.part[i], c.part[i]);
  return c;
}
// b where one of the two is NaN, as x86 has it: max(bound, x) keeps the NaN of x. Without registers, Highway's own
// would give the other operand.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
HWY_INLINE Native max(Native a, Native b) { return hn::IfThenElse(hn::Gt(a, b), a, b); }
HWY_INLINE Native min(Native a, Native b) { return hn::IfThenElse(hn::Lt(a, b), a, b); }
#else
HWY_INLINE Native max(Native a, Native b) { return hn::Max(a, b); }
HWY_INLINE Native min(Native a, Native b) { return hn::Min(a, b); }
#endif
HWY_INLINE Floats16 max(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = max(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE Floats16 min(Floats16 a, Floats16 b) {
  HEED_EACH_PART a.part[i] = min(a.part[i], b.part[i]);
  return a;
}
HWY_INLINE Floats16 sqrt(Floats16 a) {
  HEED_EACH_PART a.part[i] = hn::Sqrt(a.part[i]);
  return a;
}

// fn on each register
template <class Function>
HWY_INLINE Floats16 each(Floats16 a, Function fn) {
  HEED_EACH_PART a.part[i] = fn(a.part[i]);
  return a;
}
template <class Function>
HWY_INLINE Floats16 each(Floats16 a, Floats16 b, Function fn) {
  HEED_EACH_PART a.part[i] = fn(a.part[i], b.part[i]);
  return a;
}

// Folds halves onto halves (16 -> 8 -> 4 -> 2 -> 1), the same tree on every target.
struct Plus {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Larger {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};
#if HWY_TARGET == HWY_SCALAR
template <class Combine>
HWY_INLINE float fold_register(Tag, Native x, Combine) {
  return hn::GetLane(x);
}
#else
template <class D, class Combine>
HWY_INLINE float fold_register(D, hn::Vec<D> x, Combine combine) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    x = combine(x, hn::Shuffle1032(x));
    return hn::GetLane(combine(x, hn::Shuffle2301(x)));
  } else {
    const hn::Half<D> half;
    return fold_register(half, combine(hn::LowerHalf(half, x), hn::UpperHalf(half, x)), combine);
  }
}
#endif
template <class Combine>
HWY_INLINE float fold(Floats16 x, Combine combine) {
  for (int half = kParts / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) x.part[i] = combine(x.part[i], x.part[i + half]);
  }
  return fold_register(Tag(), x.part[0], combine);
}
HWY_INLINE float sum(Floats16 x) { return fold(x, Plus()); }
HWY_INLINE float max_of(Floats16 x) { return fold(x, Larger()); }

// The sum over [0, n) of term(i, lanes), which must be 0 in the lanes that are left out. Four running sums hide the
// latency of an addition; the order depends on n alone.
template <class Term>
HWY_INLINE Floats16 sum_of(int64_t n, Term term) {
  Floats16 s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    s0 = s0 + term(i, Whole());
    s1 = s1 + term(i + kWidth, Whole());
    s2 = s2 + term(i + 2 * kWidth, Whole());
    s3 = s3 + term(i + 3 * kWidth, Whole());
  }
  for (; i + kWidth <= n; i += kWidth) s0 = s0 + term(i, Whole());
  if (i < n) s1 = s1 + term(i, First{n - i});
  return (s0 + s1) + (s2 + s3);
}

#undef HEED_EACH_PART

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
