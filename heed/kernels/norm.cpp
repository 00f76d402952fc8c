#include "heed/kernels/norm.h"

#include <algorithm>
#include <cmath>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#include "heed/kernels/row_grain.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/norm.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Rows whose parameter gradients are summed together; fixed, so that the sums never depend on the threads.
constexpr int64_t kPiece = 64;
// Rows that go over the columns side by side in the backward, so that the running sums are loaded once for all.
constexpr int kAbreast = 4;

void layer_norm_rows(const LayerNormForward& f) {
  if (f.C <= 0) return;
  parallel_for(f.T, row_grain(f.C), [&](int64_t begin, int64_t end) HWY_ATTR {
    const int64_t C = f.C;
    const float *gain = f.gain, *bias = f.bias;
    const float share = 1.0f / static_cast<float>(C);
    for (int64_t t = begin; t < end; ++t) {
      const float* x = f.x + t * C;
      float* y = f.y + t * C;
      const float mean = sum(sum_of(C, [=](int64_t i, auto lanes) HWY_ATTR { return load(x + i, lanes); })) * share;
      const Floats16 m = set(mean);
      const float squares = sum(sum_of(C, [=](int64_t i, auto lanes) HWY_ATTR {
        const Floats16 d = load(x + i, lanes, mean) - m;
        return d * d;
      }));
      const float rstd = 1.0f / std::sqrt(squares * share + f.eps);
      f.mean[t] = mean;
      f.rstd[t] = rstd;
      const Floats16 r = set(rstd);
      if (bias) {
        by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR {
          store(fma((load(x + i, lanes) - m) * r, load(gain + i, lanes), load(bias + i, lanes)), y + i, lanes);
        });
      } else {
        by_sixteen(C, [=](int64_t i, auto lanes)
                          HWY_ATTR { store((load(x + i, lanes) - m) * r * load(gain + i, lanes), y + i, lanes); });
      }
    }
  });
}

void rms_norm_rows(const RmsNormForward& f) {
  if (f.C <= 0) return;
  parallel_for(f.T, row_grain(f.C), [&](int64_t begin, int64_t end) HWY_ATTR {
    const int64_t C = f.C;
    const float* gain = f.gain;
    const float share = 1.0f / static_cast<float>(C);
    for (int64_t t = begin; t < end; ++t) {
      const float* x = f.x + t * C;
      float* y = f.y + t * C;
      const float squares = sum(sum_of(C, [=](int64_t i, auto lanes) HWY_ATTR {
        const Floats16 v = load(x + i, lanes);
        return v * v;
      }));
      const float rstd = 1.0f / std::sqrt(squares * share + f.eps);
      f.rstd[t] = rstd;
      const Floats16 r = set(rstd);
      by_sixteen(C, [=](int64_t i, auto lanes)
                        HWY_ATTR { store(load(x + i, lanes) * r * load(gain + i, lanes), y + i, lanes); });
    }
  });
}

// What both norms' backwards read; LayerNorm has a mean, RMSNorm has none.
template <bool kCentred>
struct Backward {
  int64_t T, C;
  const float *x, *gain, *mean, *rstd, *dy;
  float* dx;
  bool accumulate_dx;

  // xhat = (x - mean) * rstd
  HWY_INLINE Floats16 normal(int64_t t, Floats16 value) const {
    if constexpr (kCentred) value = value - set(mean[t]);
    return value * set(rstd[t]);
  }

  // mean over the row of dy * gain, and of dy * gain * xhat
  HWY_INLINE void row_means(int64_t t, float* plain, float* with_normal) const {
    const float* row = x + t * C;
    const float* drow = dy + t * C;
    Floats16 s0 = zero(), s1 = zero(), p0 = zero(), p1 = zero();
    const auto step = [&](Floats16& s, Floats16& p, int64_t i, auto lanes) HWY_ATTR {
      const Floats16 g = load(drow + i, lanes) * load(gain + i, lanes);
      if constexpr (kCentred) p = p + g;
      s = fma(g, normal(t, load(row + i, lanes)), s);
    };
    int64_t i = 0;
    for (; i + 2 * kWidth <= C; i += 2 * kWidth) {
      step(s0, p0, i, Whole());
      step(s1, p1, i + kWidth, Whole());
    }
    by_sixteen(C - i, [&](int64_t k, auto lanes) HWY_ATTR { step(s0, p0, i + k, lanes); });
    const float share = 1.0f / static_cast<float>(C);
    *with_normal = sum(s0 + s1) * share;
    *plain = kCentred ? sum(p0 + p1) * share : 0.0f;
  }

  // kRows rows from t on: dx, and their share of dgain and dbias added to the piece's sums.
  template <int kRows>
  HWY_INLINE void rows(int64_t t, float* dgain, float* dbias) const {
    float plain[kRows], with_normal[kRows];
    if (dx) {
      for (int k = 0; k < kRows; ++k) row_means(t + k, &plain[k], &with_normal[k]);
    }
    by_sixteen(C, [&](int64_t i, auto lanes) HWY_ATTR {
      const Floats16 g = load(gain + i, lanes);
      Floats16 sum_gain = load(dgain + i, lanes), sum_bias = zero();
      if constexpr (kCentred) sum_bias = load(dbias + i, lanes);
      for (int k = 0; k < kRows; ++k) {
        const int64_t at = (t + k) * C + i;
        const Floats16 d = load(dy + at, lanes), xhat = normal(t + k, load(x + at, lanes));
        sum_gain = fma(d, xhat, sum_gain);
        if constexpr (kCentred) sum_bias = sum_bias + d;
        if (!dx) continue;
        Floats16 v = d * g;
        if constexpr (kCentred) v = v - set(plain[k]);
        v = (v - xhat * set(with_normal[k])) * set(rstd[t + k]);
        store(accumulate_dx ? load(dx + at, lanes) + v : v, dx + at, lanes);
      }
      store(sum_gain, dgain + i, lanes);
      if constexpr (kCentred) store(sum_bias, dbias + i, lanes);
    });
  }

  // Sums of a piece of rows start at 0 in `sums`: dgain (C), then dbias (C).
  HWY_INLINE void piece(int64_t begin, int64_t end, float* sums) const {
    std::fill(sums, sums + (kCentred ? 2 : 1) * C, 0.0f);
    int64_t t = begin;
    for (; t + kAbreast <= end; t += kAbreast) rows<kAbreast>(t, sums, sums + C);
    for (; t < end; ++t) rows<1>(t, sums, sums + C);
  }
};

// y += the sums of the pieces, in order
void add_pieces(float* y, const float* sums, int64_t stride, int64_t pieces, int64_t C) {
  if (!y) return;
  by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR {
    Floats16 total = load(y + i, lanes);
    for (int64_t p = 0; p < pieces; ++p) total = total + load(sums + p * stride + i, lanes);
    store(total, y + i, lanes);
  });
}

template <bool kCentred>
HWY_INLINE void norm_backward(const Backward<kCentred>& b, float* dgain, float* dbias) {
  if (b.C <= 0 || b.T <= 0) return;
  const int64_t pieces = (b.T + kPiece - 1) / kPiece, stride = (kCentred ? 2 : 1) * b.C;
  const Scratch<float> sums(pieces * stride);
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t p = begin; p < end; ++p)
      b.piece(p * kPiece, std::min(b.T, (p + 1) * kPiece), sums.data() + p * stride);
  });
  add_pieces(dgain, sums.data(), stride, pieces, b.C);
  add_pieces(dbias, sums.data() + b.C, stride, pieces, b.C);
}

void layer_norm_backward_rows(const LayerNormBackward& b) {
  norm_backward(Backward<true>{b.T, b.C, b.x, b.gain, b.mean, b.rstd, b.dy, b.dx, b.accumulate_dx}, b.dgain, b.dbias);
}

void rms_norm_backward_rows(const RmsNormBackward& b) {
  norm_backward(Backward<false>{b.T, b.C, b.x, b.gain, nullptr, b.rstd, b.dy, b.dx, b.accumulate_dx}, b.dgain, nullptr);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_backward_rows);
HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(rms_norm_backward_rows);

void layer_norm(const LayerNormForward& f) { HWY_DYNAMIC_DISPATCH(layer_norm_rows)(f); }
void layer_norm_backward(const LayerNormBackward& b) { HWY_DYNAMIC_DISPATCH(layer_norm_backward_rows)(b); }
void rms_norm(const RmsNormForward& f) { HWY_DYNAMIC_DISPATCH(rms_norm_rows)(f); }
void rms_norm_backward(const RmsNormBackward& b) { HWY_DYNAMIC_DISPATCH(rms_norm_backward_rows)(b); }

}  // namespace heed::kernels
#endif
