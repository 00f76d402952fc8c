#include "heed/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/base/threads.h"
#include "heed/kernels/row_grain.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/softmax.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

HWY_INLINE float row_max(const float* x, int64_t C) {
  Floats16 m0 = set(kMasked), m1 = m0;
  int64_t i = 0;
  for (; i + 2 * kWidth <= C; i += 2 * kWidth) {
    m0 = max(m0, load(x + i));
    m1 = max(m1, load(x + i + kWidth));
  }
  by_sixteen(C - i, [&](int64_t k, auto lanes) HWY_ATTR { m0 = max(m0, load(x + i + k, lanes, kMasked)); });
  return max_of(max(m0, m1));
}

HWY_INLINE void softmax_row(float* y, const float* x, int64_t C) {
  const float top = row_max(x, C);
  if (top == kMasked) return by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR { store(zero(), y + i, lanes); });
  const Floats16 shift = set(top);
  const Floats16 total = sum_of(C, [=](int64_t i, auto lanes) HWY_ATTR {
    const Floats16 e = exp(load(x + i, lanes, kMasked) - shift);
    store(e, y + i, lanes);
    return e;
  });
  const Floats16 inverse = set(1.0f / sum(total));
  by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR { store(load(y + i, lanes) * inverse, y + i, lanes); });
}

HWY_INLINE void log_softmax_row(float* y, const float* x, int64_t C) {
  const float top = row_max(x, C);
  if (top == kMasked) return by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR { store(set(kMasked), y + i, lanes); });
  const Floats16 shift = set(top);
  const Floats16 total =
      sum_of(C, [=](int64_t i, auto lanes) HWY_ATTR { return exp(load(x + i, lanes, kMasked) - shift); });
  // Rounded from double: the same bits whichever libm computes it.
  const Floats16 log_total = set(static_cast<float>(std::log(static_cast<double>(sum(total)))));
  by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR { store(load(x + i, lanes) - shift - log_total, y + i, lanes); });
}

void softmax_rows(float* y, const float* x, int64_t T, int64_t C) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [=](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t t = begin; t < end; ++t) softmax_row(y + t * C, x + t * C, C);
  });
}

void log_softmax_rows(float* y, const float* x, int64_t T, int64_t C) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [=](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t t = begin; t < end; ++t) log_softmax_row(y + t * C, x + t * C, C);
  });
}

// Over rows: total = sum of term, then dx (+)= value(i, lanes, total).
template <class Term, class Value>
HWY_INLINE void backward_rows(float* dx, int64_t T, int64_t C, bool accumulate, Term term, Value value) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t r = begin * C; r < end * C; r += C) {
      const Floats16 total = set(sum(sum_of(C, [&](int64_t i, auto lanes) HWY_ATTR { return term(r + i, lanes); })));
      by_sixteen(C, [&](int64_t i, auto lanes) HWY_ATTR {
        const Floats16 v = value(r + i, lanes, total);
        store(accumulate ? load(dx + r + i, lanes) + v : v, dx + r + i, lanes);
      });
    }
  });
}

void softmax_backward_rows(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  backward_rows(
      dx, T, C, accumulate, [=](int64_t i, auto lanes) HWY_ATTR { return load(y + i, lanes) * load(dy + i, lanes); },
      [=](int64_t i, auto lanes, Floats16 total)
          HWY_ATTR { return load(y + i, lanes) * (load(dy + i, lanes) - total); });
}

void log_softmax_backward_rows(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  backward_rows(
      dx, T, C, accumulate, [=](int64_t i, auto lanes) HWY_ATTR { return load(dy + i, lanes); },
      [=](int64_t i, auto lanes, Floats16 total)
          HWY_ATTR { return load(dy + i, lanes) - exp(load(y + i, lanes)) * total; });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_backward_rows);
HWY_EXPORT(log_softmax_backward_rows);

void softmax(float* y, const float* x, int64_t T, int64_t C) { HWY_DYNAMIC_DISPATCH(softmax_rows)(y, x, T, C); }

void log_softmax(float* y, const float* x, int64_t T, int64_t C) { HWY_DYNAMIC_DISPATCH(log_softmax_rows)(y, x, T, C); }

void softmax_backward(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(dx, y, dy, T, C, accumulate);
}

void log_softmax_backward(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(log_softmax_backward_rows)(dx, y, dy, T, C, accumulate);
}

}  // namespace heed::kernels
#endif
