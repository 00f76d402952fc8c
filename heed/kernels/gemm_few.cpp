// Few rows: memory is the limit, so weights are read once, as they lie, in pieces that follow each other. The chains are
// those of every other product.
#include <algorithm>
#include <cmath>

#include "heed/base/threads.h"
#include "heed/kernels/gemm_kinds.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/gemm_few.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include "heed/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
bool few_rows(const Gemm&) { return false; }  // nothing to turn: the others do
#else
constexpr int64_t kFewRows = 16;

// What one thread computes at a time: columns [begin, end) of some rows.
struct FewRows {
  const Gemm& g;
  int64_t row, begin, end;

  float x(int r, int64_t k) const { return *g.a.at((row + r) * g.a.ld + k); }
  float* c(int r, int64_t column) const { return g.c + (row + r) * g.ldc + column; }
  // What the chains start with, where there is something.
  const float* start(int r, int64_t column) const {
    return g.accumulate ? c(r, column) : g.bias ? g.bias + column : nullptr;
  }
};

// Weights stored (out, in): kNative outputs of R rows, turned in registers.
template <class T, int R>
HWY_INLINE void turned_block(const FewRows& f, int64_t column, int64_t columns) {
  constexpr int64_t kLine = 64 / sizeof(T), kAhead = 4 * kLine;  // numbers fetched ahead of each row of weights
  const Gemm& g = f.g;
  const T* rows[kNative];
  for (int64_t j = 0; j < kNative; ++j) rows[j] = g.b.at<T>((column + std::min(j, columns - 1)) * g.b.ld);
  alignas(64) float edge[R][kNative] = {};
  for (int r = 0; r < R; ++r) {
    if (const float* start = f.start(r, column)) std::copy(start, start + columns, edge[r]);
  }
  Native sum[R];
  for (int r = 0; r < R; ++r) sum[r] = hn::Load(Tag(), edge[r]);
  const auto four_steps = [&](int64_t k) HEED_INLINED {
    Native turned[4];
    transpose_four(turned, rows, k);
    for (int i = 0; i < 4; ++i) {
      for (int r = 0; r < R; ++r) sum[r] = hn::MulAdd(hn::Set(Tag(), f.x(r, k + i)), turned[i], sum[r]);
    }
  };
  int64_t k = 0;
  for (; k + kLine <= g.K; k += kLine) {
    for (int j = 0; j < kNative; ++j) __builtin_prefetch(rows[j] + k + kAhead);
    for (int64_t i = 0; i < kLine; i += 4) four_steps(k + i);
  }
  for (; k + 4 <= g.K; k += 4) four_steps(k);
  for (int r = 0; r < R; ++r) hn::Store(sum[r], Tag(), edge[r]);
  for (; k < g.K; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int64_t j = 0; j < columns; ++j) edge[r][j] = std::fma(f.x(r, k), to_f32(rows[j][k]), edge[r][j]);
    }
  }
  for (int r = 0; r < R; ++r) std::copy(edge[r], edge[r] + columns, f.c(r, column));
}

// Weights stored (in, out): `steps` of k at once, so that outputs are loaded and stored seldom.
constexpr int kSteps = 8;
template <class T, int R>
HWY_INLINE void few_steps(const FewRows& f, int64_t k, int steps) {
  const Gemm& g = f.g;
  const T* rows[kSteps];
  for (int i = 0; i < steps; ++i) rows[i] = g.b.at<T>((k + i) * g.b.ld);
  int64_t column = f.begin;
  for (; column + kNative <= f.end; column += kNative) {
    Native sum[R];
    for (int r = 0; r < R; ++r) sum[r] = hn::LoadU(Tag(), f.c(r, column));
    for (int i = 0; i < steps; ++i) {
      if (f.row == 0) __builtin_prefetch(rows[i] + column + kSteps * g.b.ld);
      const Native w = load_numbers(rows[i] + column);
      for (int r = 0; r < R; ++r) sum[r] = hn::MulAdd(hn::Set(Tag(), f.x(r, k + i)), w, sum[r]);
    }
    for (int r = 0; r < R; ++r) hn::StoreU(sum[r], Tag(), f.c(r, column));
  }
  for (; column < f.end; ++column) {
    for (int r = 0; r < R; ++r) {
      float sum = *f.c(r, column);
      for (int i = 0; i < steps; ++i) sum = std::fma(f.x(r, k + i), to_f32(rows[i][column]), sum);
      *f.c(r, column) = sum;
    }
  }
}

// body for all rows of g, eight, four, two and one at a time; how many is a constant.
template <class Body>
HWY_INLINE void by_rows(const Gemm& g, int64_t begin, int64_t end, Body body) {
  FewRows f{g, 0, begin, end};
  const auto while_left = [&](auto rows) HEED_INLINED {
    for (; f.row + rows <= g.M; f.row += rows) body(f, rows);
  };
  while_left(std::integral_constant<int, 8>());
  while_left(std::integral_constant<int, 4>());
  while_left(std::integral_constant<int, 2>());
  while_left(std::integral_constant<int, 1>());
}

template <class T>
HWY_NOINLINE void few_rows_out_in(const Gemm& g, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; column += kNative) {
    by_rows(g, begin, end, [&](const FewRows& f, auto r) HEED_INLINED {
      turned_block<T, r>(f, column, std::min<int64_t>(kNative, end - column));
    });
  }
}

template <class T>
HWY_NOINLINE void few_rows_in_out(const Gemm& g, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < g.M && !g.accumulate; ++row) {
    float* c = g.c + row * g.ldc;
    if (g.bias) {
      std::copy(g.bias + begin, g.bias + end, c + begin);
    } else {
      std::fill(c + begin, c + end, 0.0f);
    }
  }
  for (int64_t k = 0; k < g.K; k += kSteps) {
    const int steps = static_cast<int>(std::min<int64_t>(kSteps, g.K - k));
    by_rows(g, begin, end, [&](const FewRows& f, auto r) HEED_INLINED {
      steps == kSteps ? few_steps<T, r>(f, k, kSteps) : few_steps<T, r>(f, k, steps);
    });
  }
}

// Whether the product was one of few rows, and is done.
bool few_rows(const Gemm& g) {
  if (g.M > kFewRows || g.a.transposed) return false;
  // A chunk is worth a thread when it reads a few hundred kilobytes of weights; what lies (in, out) is read in runs of at
  // least half a kilobyte, and outputs stay in L1.
  const int64_t grain = g.b.transposed
                            ? std::max<int64_t>(64, (int64_t{1} << 17) / std::max<int64_t>(1, g.K) / 64 * 64)
                            : std::clamp<int64_t>((g.N + 7) / 8 / 64 * 64, 128, 512);
  parallel_for(g.N, grain, [&](int64_t begin, int64_t end) {
    with_number_type(g.b.type, [&](auto type) {
      using T = decltype(type);
      g.b.transposed ? few_rows_out_in<T>(g, begin, end) : few_rows_in_out<T>(g, begin, end);
    });
    if (g.finish) (*g.finish)({g.c + begin, g.ldc, 0, begin, g.M, end - begin});
  });
  return true;
}
#endif

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(few_rows);
bool gemm_few_rows(const Gemm& g) { return HWY_DYNAMIC_DISPATCH(few_rows)(g); }

}  // namespace heed::kernels
#endif
