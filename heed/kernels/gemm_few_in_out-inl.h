// Few rows by weights stored (in, out).
#if defined(HEED_KERNELS_GEMM_FEW_IN_OUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_FEW_IN_OUT_INL_H_
#undef HEED_KERNELS_GEMM_FEW_IN_OUT_INL_H_
#else
#define HEED_KERNELS_GEMM_FEW_IN_OUT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "heed/kernels/gemm_few_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

constexpr int kMostRows = kNative == 16 ? 8 : 4;  // whose chains fit in the registers

// Columns [begin, end), whole registers of them, and steps of k that are taken at once: outputs are loaded and stored seldom.
// Whole rows of weights follow each other in memory, and are read in that order best in short blocks.
struct Slice {
  Slice(const Gemm& g, int64_t first, int64_t last)
      : begin(first),
        end(last - (last - first) % kNative),
        whole_rows(end - begin == g.b.ld),
        steps(whole_rows ? 16 : 32) {}
  int64_t begin, end;
  bool whole_rows;
  int64_t steps;
};

// What is fetched during each step.
template <class T>
struct Ahead {
  const T* place = nullptr;
  int64_t step = 0;
};

// R rows by V registers of outputs.
template <int R, int V, class T>
HWY_INLINE void few_steps(const FewRows& f, int64_t row, int64_t k, int64_t steps, int64_t column, Ahead<T> ahead) {
  const Gemm& g = f.g;
  const int64_t ld = g.b.ld, M = g.M, ldc = g.ldc;
  const T* w = g.b.at<T>(k * ld + column);
  const float* x = f.x + k * M + row;
  float* c = g.c + row * ldc + column;
  Several<Native, R * V> sum;
  unrolled<R * V>([&](auto i) HEED_INLINED { at<i>(sum) = hn::LoadU(Tag(), c + i / V * ldc + i % V * kNative); });
  for (int64_t step = 0; step < steps; ++step, w += ld, x += M, ahead.place += ahead.step) {
    for (int64_t i = 0; ahead.step && i < V * kNative; i += 64 / sizeof(T)) __builtin_prefetch(ahead.place + i, 0, 3);
    Several<Native, V> weights;
    unrolled<V>([&](auto v) HEED_INLINED { at<v>(weights) = load_numbers(w + v * kNative); });
    unrolled<R>([&](auto r) HEED_INLINED {
      const Native xs = hn::Set(Tag(), x[r]);
      unrolled<V>([&](auto v) HEED_INLINED {
        Native& s = at<r * V + v>(sum);
        s = hn::MulAdd(xs, at<v>(weights), s);
      });
    });
  }
  unrolled<R * V>([&](auto i) HEED_INLINED { hn::StoreU(at<i>(sum), Tag(), c + i / V * ldc + i % V * kNative); });
}

// Columns that do not fill a register.
template <class T>
void last_columns(const FewRows& f, int64_t begin, int64_t end) {
  const Gemm& g = f.g;
  for (int64_t row = 0; row < g.M; ++row) {
    float* c = g.c + row * g.ldc;
    for (int64_t k = 0; k < g.K; ++k) {
      const float x = f.x[k * g.M + row];
      const T* w = g.b.at<T>(k * g.b.ld);
      for (int64_t column = begin; column < end; ++column) c[column] = std::fma(x, to_f32(w[column]), c[column]);
    }
  }
}

// Some steps of all columns. For all rows but the first the weights are in L1. What comes after these steps is fetched: of
// whole rows in the order in which it lies.
template <int R, int V, class T>
void few_steps_of_slice(const FewRows& f, int64_t k, const Slice& slice) {
  const int64_t ld = f.g.b.ld, begin = slice.begin, end = slice.end, steps = std::min(slice.steps, f.g.K - k);
  const bool more = k + 2 * slice.steps <= f.g.K;
  const T* next = f.g.b.at<T>((more ? k + steps : k) * ld + begin);
  const auto columns = [&](auto registers, int64_t column) HEED_INLINED {
    constexpr int kRegisters = decltype(registers)::value;
    const Ahead<T> ahead = slice.whole_rows ? Ahead<T>{next + (column - begin) * steps, kRegisters * kNative}
                                            : Ahead<T>{next + (column - begin), ld};
    by_groups<R>(f.g.M, [&](auto rows, int64_t row) HEED_INLINED {
      few_steps<decltype(rows)::value, kRegisters, T>(f, row, k, steps, column, more && row == 0 ? ahead : Ahead<T>{});
    });
  };
  int64_t column = begin;
  for (; column + V * kNative <= end; column += V * kNative) columns(std::integral_constant<int, V>(), column);
  for (; column < end; column += kNative) columns(std::integral_constant<int, 1>(), column);
}

// A row of x by kSteps whole rows of weights.
template <int kSteps, class T>
HWY_INLINE void one_row_steps(const FewRows& f, int64_t k, int64_t begin, int64_t end, int64_t ahead) {
  constexpr int64_t kAtOnce = 4 * kNative;
  const Gemm& g = f.g;
  const int64_t ld = g.b.ld;
  const T* w = g.b.at<T>(k * ld);
  Several<Native, kSteps> x;
  unrolled<kSteps>([&](auto i) HEED_INLINED { at<i>(x) = hn::Set(Tag(), f.x[k + i]); });
  const auto advance = [&](int64_t column) HEED_INLINED {
    Native sum = hn::LoadU(Tag(), g.c + column);
    unrolled<kSteps>([&](auto i) HEED_INLINED { sum = hn::MulAdd(at<i>(x), load_numbers(w + i * ld + column), sum); });
    hn::StoreU(sum, Tag(), g.c + column);
  };
  int64_t column = begin;
  for (; column + kAtOnce <= end; column += kAtOnce) {
    for (int64_t i = 0; ahead && i < kAtOnce; i += 64 / sizeof(T)) __builtin_prefetch(w + ahead + column + i, 0, 3);
    unrolled<4>([&](auto i) HEED_INLINED { advance(column + i * kNative); });
  }
  for (; column < end; column += kNative) advance(column);
}

// One row: its outputs stay in L1 while the weights pass, rows of some thousand columns from end to end. Of f32 the CPU
// fetches enough ahead by itself; two bytes a number pass one row after the other, or it would not, and are asked for some
// kilobytes before.
template <class T>
void one_row_of_slice(const FewRows& f, int64_t begin, int64_t end) {
  constexpr bool kTwoBytes = sizeof(T) == 2;
  constexpr int kSteps = kTwoBytes ? 1 : 4;
  constexpr int64_t kAhead = (8 << 10) / sizeof(T);
  const int64_t K = f.g.K, rows_ahead = std::max<int64_t>(1, kAhead / (end - begin));
  int64_t k = 0;
  for (; k + kSteps <= K; k += kSteps) {
    const bool fetch = kTwoBytes && k + rows_ahead < K;
    one_row_steps<kSteps, T>(f, k, begin, end, fetch ? rows_ahead * f.g.b.ld : 0);
  }
  for (; k < K; ++k) one_row_steps<1, T>(f, k, begin, end, 0);
}

template <class T>
void few_rows_in_out(const FewRows& f, int64_t begin, int64_t end) {
  const Gemm& g = f.g;
  for (int64_t row = 0; row < g.M && !g.accumulate; ++row) {
    float* c = g.c + row * g.ldc;
    if (g.bias) {
      std::copy(g.bias + begin, g.bias + end, c + begin);
    } else {
      std::fill(c + begin, c + end, 0.0f);
    }
  }
  const Slice slice(g, begin, end);
  if (g.M == 1 && slice.whole_rows) {
    constexpr int64_t kInL1 = 4096;
    for (int64_t column = begin; column < slice.end; column += kInL1) {
      one_row_of_slice<T>(f, column, std::min(slice.end, column + kInL1));
    }
  } else {
    for (int64_t k = 0; k < g.K; k += slice.steps) {
      // The fewer the rows, the longer the runs that there are registers for.
      if (g.M == 1) {
        few_steps_of_slice<1, 8, T>(f, k, slice);
      } else {
        g.M < 4 ? few_steps_of_slice<2, kNative == 16 ? 8 : 4, T>(f, k, slice)
                : few_steps_of_slice<kMostRows, 3, T>(f, k, slice);
      }
    }
  }
  last_columns<T>(f, slice.end, end);
}

#endif
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
