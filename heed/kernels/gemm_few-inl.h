// Few rows against weights stored (out, in): memory is the limit, so weights are read once, as they lie, and turned in
// registers. The chains are those of every other product.
#if defined(HEED_KERNELS_GEMM_FEW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_FEW_INL_H_
#undef HEED_KERNELS_GEMM_FEW_INL_H_
#else
#define HEED_KERNELS_GEMM_FEW_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "heed/base/threads.h"
#include "heed/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kFewRows = 0;  // nothing to turn: the others do
inline void gemm_few_rows(const Gemm&) {}
#else
constexpr int64_t kFewRows = 4;

// kNative outputs of R rows: columns [column, column + columns).
template <int R>
HWY_INLINE void few_rows_block(const Gemm& g, int64_t column, int64_t columns) {
  constexpr int64_t kAhead = 64;  // floats fetched ahead of each row of weights
  const float* rows[kNative];
  for (int64_t j = 0; j < kNative; ++j) rows[j] = g.b.data + (column + std::min(j, columns - 1)) * g.b.ld;
  alignas(64) float edge[R][kNative] = {};
  for (int r = 0; r < R; ++r) {
    const float* start = g.accumulate ? g.c + r * g.ldc + column : g.bias ? g.bias + column : edge[r];
    if (start != edge[r]) std::copy(start, start + columns, edge[r]);
  }
  Native sum[R];
  for (int r = 0; r < R; ++r) sum[r] = hn::Load(Tag(), edge[r]);
  const auto four_steps = [&](int64_t k) HEED_INLINED {
    Native turned[4];
    transpose_four(turned, rows, k);
    for (int i = 0; i < 4; ++i) {
      for (int r = 0; r < R; ++r) sum[r] = hn::MulAdd(hn::Set(Tag(), g.a.data[r * g.a.ld + k + i]), turned[i], sum[r]);
    }
  };
  int64_t k = 0;
  for (; k + 16 <= g.K; k += 16) {
    for (int j = 0; j < kNative; ++j) __builtin_prefetch(rows[j] + k + kAhead);
    for (int i = 0; i < 16; i += 4) four_steps(k + i);
  }
  for (; k + 4 <= g.K; k += 4) four_steps(k);
  for (int r = 0; r < R; ++r) hn::Store(sum[r], Tag(), edge[r]);
  for (; k < g.K; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int64_t j = 0; j < columns; ++j) edge[r][j] = std::fma(g.a.data[r * g.a.ld + k], rows[j][k], edge[r][j]);
    }
  }
  for (int r = 0; r < R; ++r) std::copy(edge[r], edge[r] + columns, g.c + r * g.ldc + column);
}

// 1..kFewRows rows of a that is not transposed, b transposed.
inline void gemm_few_rows(const Gemm& g) {
  using Block = void (*)(const Gemm&, int64_t, int64_t);
  static constexpr Block kBlocks[kFewRows] = {few_rows_block<1>, few_rows_block<2>, few_rows_block<3>,
                                              few_rows_block<4>};
  // A chunk is worth a thread when it reads a few hundred kilobytes of weights.
  const int64_t grain = std::max<int64_t>(64, (int64_t{1} << 17) / std::max<int64_t>(1, g.K) / 64 * 64);
  parallel_for(g.N, grain, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; column += kNative) {
      kBlocks[g.M - 1](g, column, std::min<int64_t>(kNative, end - column));
    }
    if (g.finish) (*g.finish)({g.c + begin, g.ldc, 0, begin, g.M, end - begin});
  });
}
#endif

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
