// Few rows: memory is the limit, so weights are read once, as they lie, in pieces that follow each other. The chains are
// those of every other product.
#include <algorithm>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#include "heed/kernels/gemm_kinds.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/gemm_few.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include "heed/kernels/gemm_few_in_out-inl.h"
#include "heed/kernels/gemm_few_out_in-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
bool few_rows(const Gemm&) { return false; }  // nothing to turn: the others do
#else
constexpr int64_t kFewRows = 32;

// Into memory where the rows lie side by side, a register of them at a time.
void turn_rows(const Gemm& g, float* x) {
  constexpr int kSteps = kTurned<float>;
  for (int64_t first = 0; first < g.M; first += kNative) {
    const int64_t rows = std::min<int64_t>(kNative, g.M - first);
    const auto inside = hn::FirstN(Tag(), static_cast<size_t>(rows));
    const float* row[kNative];
    for (int64_t r = 0; r < kNative; ++r) row[r] = g.a.at((first + std::min(r, rows - 1)) * g.a.ld);
    float* to = x + first;
    int64_t k = 0;
    for (; k + kSteps <= g.K; k += kSteps) {
      const Turned<float> turned(row, k);
      unrolled<kSteps>(
          [&](auto i) HEED_INLINED { hn::BlendedStore(turned.template step<i>(), inside, Tag(), to + (k + i) * g.M); });
    }
    for (; k < g.K; ++k) {
      for (int64_t r = 0; r < rows; ++r) to[k * g.M + r] = row[r][k];
    }
  }
}

void columns_of(const FewRows& f, int64_t begin, int64_t end) {
  with_number_type(f.g.b.type, [&](auto type) {
    using T = decltype(type);
    f.g.b.transposed ? few_rows_out_in<T>(f, begin, end) : few_rows_in_out<T>(f, begin, end);
  });
}

void each_column(const FewRows& f) {
  const Gemm& g = f.g;
  // Some megabytes of weights a chunk, and equal shares; what lies (in, out) is read in runs as long as can be.
  constexpr int64_t kChunkBytes = int64_t{4} << 20;
  const int64_t bytes = g.N * g.K * (g.b.type == NumberType::kF32 ? 4 : 2), threads = num_threads();
  const int64_t rounds = g.b.transposed ? std::max<int64_t>(1, bytes / threads / kChunkBytes) : 1;
  const int64_t grain = std::max<int64_t>(64, (g.N / (rounds * threads) + 63) / 64 * 64);
  parallel_for(g.N, grain, [&](int64_t begin, int64_t end) {
    columns_of(f, begin, end);
    if (g.finish) (*g.finish)({g.c + begin, g.ldc, 0, begin, g.M, end - begin});
  });
}

// A thread each half of k, which reads whole rows of weights from end to end; more threads share the columns of a half.
void each_half(const FewRows& f) {
  const Gemm& g = f.g;
  const Scratch<float> second(g.M * g.N);
  const Halves halves(g, second.data());
  const int64_t pieces = std::max(1, num_threads() / 2), grain = std::max<int64_t>(64, (g.N / pieces + 63) / 64 * 64);
  const int64_t columns = (g.N + grain - 1) / grain;
  parallel_for(2 * columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const bool later = i >= columns;
      const int64_t column = i % columns * grain;
      const FewRows half{later ? halves.second : halves.first, f.x + (later ? halves.first.K * g.M : 0)};
      columns_of(half, column, std::min(g.N, column + grain));
    }
  });
  halves.join();
}

// Whether the product was one of few rows, and is done.
bool few_rows(const Gemm& g) {
  if (g.M > kFewRows || g.a.transposed || (in_halves(g) && g.b.transposed)) return false;
  const Scratch<float> turned(g.M > 1 ? g.M * g.K : 0);
  if (g.M > 1) turn_rows(g, turned.data());
  const FewRows f{g, g.M > 1 ? turned.data() : g.a.at()};
  if (in_halves(g)) {
    each_half(f);
  } else {
    each_column(f);
  }
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
