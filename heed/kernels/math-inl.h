// exp, log, tanh, erf of sixteen floats and the activations built on them: the same bits on AVX2 and AVX-512.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MATH_INL_H_
#undef HEED_KERNELS_MATH_INL_H_
#else
#define HEED_KERNELS_MATH_INL_H_
#endif

#include <limits>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

using TagI32 = hn::RebindToSigned<Tag>;

HWY_INLINE Native constant(float x) { return hn::Set(Tag(), x); }

// c[0] + c[1] x + c[2] x^2 + ...
template <size_t kTerms>
HWY_INLINE Native polynomial(Native x, const float (&c)[kTerms]) {
  Native p = constant(c[kTerms - 1]);
  for (size_t i = kTerms - 1; i > 0; --i) p = hn::MulAdd(p, x, constant(c[i - 1]));
  return p;
}

// Within 1.1 ulp; exactly 0 below the smallest normal number (so also for -inf), inf above the largest, NaN for NaN.
HWY_INLINE Native exp(Native x) {
  // The largest float below log(FLT_MAX): the next one is above it, and its bits would run over infinity into NaN.
  constexpr float kLowest = -87.3365447f, kHighest = 88.7228317f;
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const Native magic = constant(12582912.0f);
  const Native shifted = hn::MulAdd(x, constant(1.44269504f), magic);
  const Native n = hn::Sub(shifted, magic);
  // r = x - n ln 2, ln 2 in two pieces of which the first multiplies exactly.
  Native r = hn::NegMulAdd(n, constant(0.693359375f), x);
  r = hn::NegMulAdd(n, constant(-2.12194440e-4f), r);
  const Native tail = polynomial(
      r, {5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f, 1.3981999507e-3f, 1.9875691500e-4f});
  const Native p = hn::Add(hn::MulAdd(tail, hn::Mul(r, r), r), constant(1.0f));
  const TagI32 di;
  const auto power = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  Native y = hn::BitCast(Tag(), hn::Add(hn::BitCast(di, p), power));
  // Infinity beyond, and NaN as it came: its bits would run over into those of a number.
  y = hn::IfThenElse(hn::Le(x, constant(kHighest)), y, hn::Add(x, constant(std::numeric_limits<float>::infinity())));
  return hn::IfThenZeroElse(hn::Lt(x, constant(kLowest)), y);
}

// Natural logarithm, about 1 ulp; -inf at 0 and below the smallest normal number, NaN below 0.
HWY_INLINE Native log(Native x) {
  const Tag d;
  const TagI32 di;
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2))
  const auto bits = hn::Sub(hn::BitCast(di, x), hn::Set(di, 0x3F3504F3));
  const Native e = hn::ConvertTo(d, hn::ShiftRight<23>(bits));
  const auto mantissa = hn::Add(hn::And(bits, hn::Set(di, 0x007FFFFF)), hn::Set(di, 0x3F3504F3));
  const Native m = hn::Sub(hn::BitCast(d, mantissa), constant(1.0f));
  const Native z = hn::Mul(m, m);
  Native y = hn::Mul(hn::Mul(m, z), polynomial(m, {3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f,
                                                   -1.6668057665e-1f, 1.4249322787e-1f, -1.2420140846e-1f,
                                                   1.1676998740e-1f, -1.1514610310e-1f, 7.0376836292e-2f}));
  y = hn::MulAdd(e, constant(-2.12194440e-4f), y);
  y = hn::NegMulAdd(z, constant(0.5f), y);
  y = hn::MulAdd(e, constant(0.693359375f), hn::Add(m, y));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  y = hn::IfThenElse(hn::Lt(x, constant(std::numeric_limits<float>::min())), constant(-kInfinity), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), constant(std::numeric_limits<float>::quiet_NaN()), y);
  // Also keeps NaN as it came.
  return hn::IfThenElse(hn::Lt(x, constant(kInfinity)), y, x);
}

HWY_INLINE Native tanh(Native x) {
  const Native a = hn::Abs(x), z = hn::Mul(x, x), one = constant(1.0f);
  const Native small = hn::MulAdd(
      hn::Mul(x, z),
      polynomial(z, {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f, 2.06390887954e-2f, -5.70498872745e-3f}),
      x);
  const Native large = hn::Sub(one, hn::Div(constant(2.0f), hn::Add(exp(hn::Add(a, a)), one)));
  return hn::IfThenElse(hn::Lt(a, constant(0.625f)), small, hn::CopySign(large, x));
}

// Within 2e-7 everywhere, exactly +-1 from +-4 on. Below 1 an odd polynomial; above it 1 - exp(q(|x|)), where
// q approximates log(erfc) and falls on to -inf. Both were fitted to the largest error.
HWY_INLINE Native erf(Native x) {
  const Native a = hn::Abs(x);
  const Native small = hn::Mul(x, polynomial(hn::Mul(x, x), {1.12837912f, -0.376123263f, 0.112801809f, -0.0267113299f,
                                                             0.00491756975f, -0.000563148819f}));
  const Native log_erfc =
      polynomial(a, {-0.00267171473f, -1.11743844f, -0.654489011f, -0.0886341293f, 0.0147781046f, -0.00115042004f});
  const Native large = hn::Sub(constant(1.0f), exp(log_erfc));
  return hn::IfThenElse(hn::Lt(a, constant(1.0f)), small, hn::CopySign(large, x));
}

// 1 / (1 + exp(-x))
HWY_INLINE Native sigmoid(Native x) {
  const Native one = constant(1.0f);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

#define HEED_ON_SIXTEEN(name)                                     \
  HWY_INLINE Floats16 name(Floats16 x) {                          \
    for (int i = 0; i < kParts; ++i) x.part[i] = name(x.part[i]); \
    return x;                                                     \
  }
HEED_ON_SIXTEEN(exp)
HEED_ON_SIXTEEN(log)
HEED_ON_SIXTEEN(tanh)
HEED_ON_SIXTEEN(erf)
HEED_ON_SIXTEEN(sigmoid)
#undef HEED_ON_SIXTEEN

// The activations: value(x), and both(x) with the slope beside it.
struct Both {
  Floats16 value, slope;
};

struct Identity {
  static HWY_INLINE Floats16 value(Floats16 x) { return x; }
  static HWY_INLINE Both both(Floats16 x) { return {x, set(1.0f)}; }
};

struct Relu {
  // The order of the operands keeps NaN.
  static HWY_INLINE Floats16 value(Floats16 x) { return max(zero(), x); }
  static HWY_INLINE Both both(Floats16 x) {
    const Floats16 slope =
        each(x, [](Native v) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(v, hn::Zero(Tag())), constant(1.0f)); });
    return {value(x), slope};
  }
};

// x Phi(x), Phi being the normal distribution
struct Gelu {
  static HWY_INLINE Floats16 phi(Floats16 x) { return fma(set(0.5f), erf(x * set(0.707106781f)), set(0.5f)); }
  static HWY_INLINE Floats16 value(Floats16 x) { return x * phi(x); }
  static HWY_INLINE Both both(Floats16 x) {
    const Floats16 p = phi(x), density = exp(x * x * set(-0.5f)) * set(0.398942280f);
    return {x * p, fma(x, density, p)};
  }
};

// 1 / (1 + e) and its complement e / (1 + e), for e = exp(-x): no digits are lost where it is near 1.
struct Sigmoid {
  Floats16 s, rest;
};
HWY_INLINE Sigmoid sigmoid_and_rest(Floats16 x) {
  const Floats16 e = exp(zero() - x), s = set(1.0f) / (set(1.0f) + e);
  return {s, e * s};
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanh {
  static constexpr float kTwice = 1.59576912f, kCube = 0.044715f;
  static HWY_INLINE Floats16 twice_u(Floats16 x) { return x * fma(x * x, set(kTwice * kCube), set(kTwice)); }
  static HWY_INLINE Floats16 value(Floats16 x) { return x * sigmoid(twice_u(x)); }
  static HWY_INLINE Both both(Floats16 x) {
    // Beyond 8 the slope is 0 or 1 within 1e-18; the limit keeps every factor finite.
    const Floats16 above = max(set(-8.0f), x), near = min(set(8.0f), above);
    const Sigmoid g = sigmoid_and_rest(twice_u(near));
    const Floats16 inner = fma(near * near, set(3.0f * kTwice * kCube), set(kTwice));
    return {above * g.s, fma(near * inner, g.s * g.rest, g.s)};
  }
};

// x sigmoid(x)
struct Silu {
  static HWY_INLINE Floats16 value(Floats16 x) { return x * sigmoid(x); }
  static HWY_INLINE Both both(Floats16 x) {
    // Below -80 both are 0 within 1e-32; the limit keeps exp finite.
    const Floats16 above = max(set(-80.0f), x);
    const Sigmoid g = sigmoid_and_rest(above);
    const Floats16 y = above * g.s;
    return {y, fma(y, g.rest, g.s)};
  }
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
