// Few rows: memory is the limit, so weights are read once, as they lie, in pieces that follow each other. The chains are
// those of every other product.
#include <algorithm>
#include <cmath>
#include <type_traits>

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
constexpr int64_t kFewRows = 32;
constexpr int kMostRows = kNative == 16 ? 8 : 4;  // whose chains fit in the registers

const float* row_of_x(const Gemm& g, int64_t row) { return g.a.at(row * g.a.ld); }

// Outputs that are computed side by side, one a lane: column, column + apart, ... and their weights stored (out, in). Lanes
// far apart read long runs of memory each, output after output, which is what CPUs fetch ahead by themselves.
template <class T>
struct Lanes {
  int64_t column, apart, count;
  const T* weights;
  int64_t ld;
  const T* operator[](int64_t j) const { return weights + std::min(j, count - 1) * ld; }
};

// The weights of kLanes lanes at a step of k. Where none is left over, a pointer for each four of them and one distance
// serve all: more would not stay in registers.
template <class T, int kLanes, bool kWhole>
class Steps {
 public:
  explicit Steps(const Lanes<T>& lanes) : lanes_(lanes), ld_(lanes.ld) {
    for (int q = 0; q < kLanes / 4; ++q) four_[q] = lanes[4 * q];
  }
  HWY_INLINE void advance(int64_t steps) {
    for (int q = 0; q < kLanes / 4; ++q) four_[q] += steps;
    k_ += steps;
    __asm__("" : "+r"(ld_));  // else compilers keep a pointer for each lane
  }
  // Those of lanes first, first + 1, ... as an array of pointers.
  struct From {
    const Steps& steps;
    int first;
    HWY_INLINE const T* operator[](int j) const {
      if (kWhole) return steps.four_[(first + j) / 4] + (first + j) % 4 * steps.ld_;
      return steps.lanes_[first + j] + steps.k_;
    }
  };
  HWY_INLINE From from(int first) const { return {*this, first}; }
  // What each lane reads some steps later: of this output, or of the one behind it.
  HWY_INLINE void fetch(int64_t ahead) const {
    unrolled<kLanes>([&](auto j) HEED_INLINED { __builtin_prefetch(from(0)[j] + ahead, 0, 3); });
  }

 private:
  const Lanes<T>& lanes_;
  const T* four_[kLanes / 4];
  int64_t ld_, k_ = 0;
};

// R rows by V registers of outputs. An fma of a chain waits for the one before: R * V chains are under way at once.
template <class T, int R, int V, bool kWhole>
HWY_INLINE void turned_block(const Gemm& g, int64_t row, const Lanes<T>& w) {
  alignas(64) float edge[R][V * kNative] = {};
  for (int r = 0; r < R; ++r) {
    const float* start = g.accumulate ? g.c + (row + r) * g.ldc : g.bias;
    for (int64_t j = 0; start && j < w.count; ++j) edge[r][j] = start[w.column + j * w.apart];
  }
  Several<Native, R * V> sum;
  unrolled<R * V>([&](auto i) HEED_INLINED { at<i>(sum) = hn::Load(Tag(), edge[i / V] + i % V * kNative); });
  const float* x = row_of_x(g, row);
  const int64_t x_row = g.a.ld, K = g.K;
  Steps<T, V * kNative, kWhole> steps(w);
  // One row passes so quickly that the CPU's own fetching ahead falls behind. Each step asks, not each line: sixteen lines
  // asked for at once would wait for one another.
  constexpr bool kFetched = R == 1;
  constexpr int64_t kAhead = 512 / sizeof(T);
  int64_t k = 0;
  for (; k + kTurned<T> <= K; k += kTurned<T>, steps.advance(kTurned<T>)) {
    if (kFetched) steps.fetch(kAhead);
    unrolled<V>([&](auto v) HEED_INLINED {
      Native turned[kTurned<T>];
      turn<T>(turned, steps.from(v * kNative), 0);
      unrolled<kTurned<T> * R>([&](auto i) HEED_INLINED {
        Native& s = at<i % R * V + v>(sum);
        s = hn::MulAdd(hn::Set(Tag(), x[i % R * x_row + k + i / R]), turned[i / R], s);
      });
    });
  }
  unrolled<R * V>([&](auto i) HEED_INLINED { hn::Store(at<i>(sum), Tag(), edge[i / V] + i % V * kNative); });
  for (int r = 0; r < R; ++r) {
    float* c = g.c + (row + r) * g.ldc + w.column;
    for (int64_t j = 0; j < w.count; ++j) {
      for (int64_t i = k; i < K; ++i) edge[r][j] = std::fma(x[r * x_row + i], to_f32(w[j][i]), edge[r][j]);
      c[j * w.apart] = edge[r][j];
    }
  }
}

template <class T, int V, bool kWhole>
HWY_NOINLINE void turned_rows(const Gemm& g, const Lanes<T>& w) {
  int64_t row = 0;
  for (; row + kMostRows <= g.M; row += kMostRows) turned_block<T, kMostRows, V, kWhole>(g, row, w);
  for (; row + 4 <= g.M; row += 4) turned_block<T, 4, V, kWhole>(g, row, w);
  for (; row + 2 <= g.M; row += 2) turned_block<T, 2, V, kWhole>(g, row, w);
  for (; row < g.M; ++row) turned_block<T, 1, V, kWhole>(g, row, w);
}

template <class T, int V>
void few_rows_turned(const Gemm& g, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = V * kNative;
  while (begin < end) {
    int64_t apart = std::max<int64_t>(1, (end - begin) / kLanes);
    // Lanes must not lie a multiple of pages apart: their lines would fight for the same places of L1.
    if (apart > 1 && apart * g.b.ld * static_cast<int64_t>(sizeof(T)) % 4096 == 0) --apart;
    const int64_t count = std::min(kLanes, end - begin);
    for (int64_t i = 0; i < apart; ++i) {
      const Lanes<T> lanes{begin + i, apart, count, g.b.at<T>((begin + i) * g.b.ld), apart * g.b.ld};
      count == kLanes ? turned_rows<T, V, true>(g, lanes) : turned_rows<T, V, false>(g, lanes);
    }
    begin += apart * count;
  }
}

// Two registers where the chains of one would be slower than memory, and where there is room to turn two.
template <class T>
void few_rows_out_in(const Gemm& g, int64_t begin, int64_t end) {
  constexpr bool kWide = kNative == 16, kTwoBytes = sizeof(T) == 2;
  constexpr int kForOne = !kWide || std::is_same_v<T, StoredBf16> ? 2 : 1, kForMore = kTwoBytes && !kWide ? 2 : 1;
  g.M == 1 ? few_rows_turned<T, kForOne>(g, begin, end) : few_rows_turned<T, kForMore>(g, begin, end);
}

// Weights stored (in, out): several steps of k at once, so that outputs are loaded and stored seldom. One row alone waits
// for memory: it reads long runs of many weights' rows.
constexpr int64_t few_steps_for(int64_t rows) { return rows == 1 || rows >= kMostRows ? 32 : 16; }

template <int R, int V, class T>
HWY_INLINE void few_steps(const Gemm& g, int64_t row, int64_t k, int64_t column, int64_t ahead) {
  const int64_t steps = few_steps_for(g.M);
  const T* w = g.b.at<T>(k * g.b.ld + column);
  const float* x = row_of_x(g, row) + k;
  const int64_t ld = g.b.ld, x_row = g.a.ld, c_row = g.ldc;
  float* c = g.c + row * c_row + column;
  Several<Native, R * V> sum;
  unrolled<R * V>([&](auto i) HEED_INLINED { at<i>(sum) = hn::LoadU(Tag(), c + i / V * c_row + i % V * kNative); });
  for (int64_t step = 0; step < steps; ++step, w += ld, ++x) {
    for (int64_t i = 0; ahead && i < V * kNative; i += 64 / sizeof(T)) __builtin_prefetch(w + ahead + i, 0, 2);
    Several<Native, V> weights;
    unrolled<V>([&](auto v) HEED_INLINED { at<v>(weights) = load_numbers(w + v * kNative); });
    unrolled<R>([&](auto r) HEED_INLINED {
      const Native xs = hn::Set(Tag(), x[r * x_row]);
      unrolled<V>([&](auto v) HEED_INLINED {
        Native& s = at<r * V + v>(sum);
        s = hn::MulAdd(xs, at<v>(weights), s);
      });
    });
  }
  unrolled<R * V>([&](auto i) HEED_INLINED { hn::StoreU(at<i>(sum), Tag(), c + i / V * c_row + i % V * kNative); });
}

// What does not fill a register or the steps.
template <class T>
HWY_INLINE void rest(const Gemm& g, int64_t k, int64_t steps, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < g.M; ++row) {
    const float* x = row_of_x(g, row) + k;
    for (int64_t column = begin; column < end; ++column) {
      float sum = g.c[row * g.ldc + column];
      for (int64_t i = 0; i < steps; ++i) sum = std::fma(x[i], to_f32(*g.b.at<T>((k + i) * g.b.ld + column)), sum);
      g.c[row * g.ldc + column] = sum;
    }
  }
}

// Columns [column, column + V registers), every row: for all but the first the weights are in L1.
template <int V, class T>
HWY_INLINE void few_steps_of_columns(const Gemm& g, int64_t k, int64_t column, int64_t ahead) {
  int64_t row = 0;
  const auto take = [&](auto rows) HEED_INLINED {
    constexpr int R = decltype(rows)::value;
    for (; row + R <= g.M; row += R) few_steps<R, V, T>(g, row, k, column, row == 0 ? ahead : 0);
  };
  if constexpr (V <= 2) take(std::integral_constant<int, kMostRows>());
  if constexpr (V <= 4) take(std::integral_constant<int, 4>());
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

// Some steps of all columns of a slice. Runs are short here: what comes some kilobytes later is fetched.
template <int V, class T>
HWY_INLINE void few_steps_of_slice(const Gemm& g, int64_t k, int64_t begin, int64_t end) {
  constexpr int64_t kAhead = 24 << 10;
  const int64_t steps = few_steps_for(g.M);
  const int64_t steps_ahead = std::max<int64_t>(steps, kAhead / ((end - begin + 1) * static_cast<int64_t>(sizeof(T))));
  const int64_t ahead = k + steps_ahead < g.K ? steps_ahead * g.b.ld : 0;
  int64_t column = begin;
  for (; column + V * kNative <= end; column += V * kNative) few_steps_of_columns<V, T>(g, k, column, ahead);
  if constexpr (V > 4)
    for (; column + 4 * kNative <= end; column += 4 * kNative) few_steps_of_columns<4, T>(g, k, column, ahead);
  for (; column < end; column += kNative) few_steps_of_columns<1, T>(g, k, column, 0);
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
  const int64_t whole = end - (end - begin) % kNative;
  const int64_t steps = few_steps_for(g.M);
  int64_t k = 0;
  for (; k + steps <= g.K; k += steps) {
    // The fewer the rows, the longer the runs that there are registers for.
    if (g.M == 1) {
      few_steps_of_slice<8, T>(g, k, begin, whole);
    } else {
      g.M < 4 ? few_steps_of_slice<kNative == 16 ? 8 : 4, T>(g, k, begin, whole)
              : few_steps_of_slice<2, T>(g, k, begin, whole);
    }
    rest<T>(g, k, steps, whole, end);
  }
  rest<T>(g, k, g.K - k, begin, end);
}

// Whether the product was one of few rows, and is done.
bool few_rows(const Gemm& g) {
  if (g.M > kFewRows || g.a.transposed) return false;
  // About half a megabyte of weights a chunk, and equal shares; what lies (in, out) is read in runs as long as can be.
  const int64_t bytes = g.N * g.K * (g.b.type == NumberType::kF32 ? 4 : 2), threads = num_threads();
  const int64_t rounds = g.b.transposed ? std::max<int64_t>(1, bytes / threads >> 19) : 1;
  const int64_t grain = std::max<int64_t>(64, (g.N / (rounds * threads) + 63) / 64 * 64);
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
