#include "heed/kernels/elementwise.h"

#include <algorithm>
#include <cstring>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"
#include "heed/kernels/sum64-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

namespace {  // activation.cpp has an over() with a grain of its own

constexpr int64_t kGrain = 16384;  // floats a chunk: less is not worth waking a thread

// step(i, lanes) over [0, n), by threads where n is large
template <class Step>
HWY_INLINE void over(int64_t n, Step step) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    by_sixteen(end - begin, [&](int64_t i, auto lanes) HWY_ATTR { step(begin + i, lanes); });
  });
}

}  // namespace

void fill_all(float* y, float value, int64_t n) {
  const Floats16 v = set(value);
  over(n, [=](int64_t i, auto lanes) HWY_ATTR { store(v, y + i, lanes); });
}

void add_all(float* y, const float* a, const float* b, int64_t n) {
  over(n, [=](int64_t i, auto lanes) HWY_ATTR { store(load(a + i, lanes) + load(b + i, lanes), y + i, lanes); });
}

void multiply_all(float* y, const float* a, const float* b, int64_t n) {
  over(n, [=](int64_t i, auto lanes) HWY_ATTR { store(load(a + i, lanes) * load(b + i, lanes), y + i, lanes); });
}

void multiply_accumulate_all(float* y, const float* a, const float* b, int64_t n) {
  over(n, [=](int64_t i, auto lanes)
              HWY_ATTR { store(fma(load(a + i, lanes), load(b + i, lanes), load(y + i, lanes)), y + i, lanes); });
}

void scale_all(float* y, const float* x, float alpha, int64_t n, bool accumulate) {
  const Floats16 by = set(alpha);
  if (accumulate) {
    over(n,
         [=](int64_t i, auto lanes) HWY_ATTR { store(fma(by, load(x + i, lanes), load(y + i, lanes)), y + i, lanes); });
  } else {
    over(n, [=](int64_t i, auto lanes) HWY_ATTR { store(by * load(x + i, lanes), y + i, lanes); });
  }
}

// out[c] = the sum of `rows` rows; kBlocks * 16 columns stay in registers on the way down.
template <int kBlocks>
HWY_INLINE void sum_columns(float* out, const float* x, int64_t ld, int64_t rows) {
  Floats16 s[kBlocks];
  for (int k = 0; k < kBlocks; ++k) s[k] = zero();
  for (int64_t t = 0; t < rows; ++t) {
    for (int k = 0; k < kBlocks; ++k) s[k] = s[k] + load(x + t * ld + k * kWidth);
  }
  for (int k = 0; k < kBlocks; ++k) store(s[k], out + k * kWidth);
}

void sum_piece(float* out, const float* x, int64_t ld, int64_t rows, int64_t columns) {
  int64_t c = 0;
  for (; c + 4 * kWidth <= columns; c += 4 * kWidth) sum_columns<4>(out + c, x + c, ld, rows);
  for (; c + kWidth <= columns; c += kWidth) sum_columns<1>(out + c, x + c, ld, rows);
  if (c == columns) return;
  Floats16 s = zero();
  for (int64_t t = 0; t < rows; ++t) s = s + load_n(x + t * ld + c, columns - c);
  store_n(s, out + c, columns - c);
}

void sum_rows_all(float* y, const float* x, int64_t ld, int64_t T, int64_t C) {
  constexpr int64_t kRows = 128, kColumns = 512;
  if (T <= 0 || C <= 0) return;
  const int64_t pieces = (T + kRows - 1) / kRows, blocks = (C + kColumns - 1) / kColumns;
  const Scratch<float> partial(pieces * C);
  parallel_for(pieces * blocks, T * C <= kGrain ? pieces * blocks : 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / blocks * kRows, c = i % blocks * kColumns;
      sum_piece(partial.data() + i / blocks * C + c, x + t * ld + c, ld, std::min(kRows, T - t),
                std::min(kColumns, C - c));
    }
  });
  for (int64_t p = 0; p < pieces; ++p) {
    by_sixteen(C, [&](int64_t i, auto lanes)
                      HWY_ATTR { store(load(y + i, lanes) + load(partial.data() + p * C + i, lanes), y + i, lanes); });
  }
}

double sum_all(const float* x, int64_t n) {
  return sum64(x, n, [](auto v) HWY_ATTR { return v; });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(fill_all);
HWY_EXPORT(add_all);
HWY_EXPORT(multiply_all);
HWY_EXPORT(multiply_accumulate_all);
HWY_EXPORT(scale_all);
HWY_EXPORT(sum_rows_all);
HWY_EXPORT(sum_all);

void fill(float* y, float value, int64_t n) { HWY_DYNAMIC_DISPATCH(fill_all)(y, value, n); }

void copy(float* y, const float* x, int64_t n) {
  parallel_for(n, 65536, [=](int64_t begin, int64_t end) {
    std::memmove(y + begin, x + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

void add(float* y, const float* a, const float* b, int64_t n) { HWY_DYNAMIC_DISPATCH(add_all)(y, a, b, n); }

void multiply(float* y, const float* a, const float* b, int64_t n) { HWY_DYNAMIC_DISPATCH(multiply_all)(y, a, b, n); }

void multiply_accumulate(float* y, const float* a, const float* b, int64_t n) {
  HWY_DYNAMIC_DISPATCH(multiply_accumulate_all)(y, a, b, n);
}

void scale(float* y, const float* x, float alpha, int64_t n, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(scale_all)(y, x, alpha, n, accumulate);
}

void sum_rows(float* y, const float* x, int64_t ld, int64_t T, int64_t C) {
  HWY_DYNAMIC_DISPATCH(sum_rows_all)(y, x, ld, T, C);
}

double sum(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_all)(x, n); }

}  // namespace heed::kernels
#endif
