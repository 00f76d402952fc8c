// Few rows by weights stored (out, in).
#if defined(HEED_KERNELS_GEMM_FEW_OUT_IN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_FEW_OUT_IN_INL_H_
#undef HEED_KERNELS_GEMM_FEW_OUT_IN_INL_H_
#else
#define HEED_KERNELS_GEMM_FEW_OUT_IN_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "heed/kernels/gemm_few_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

constexpr int kMostTurned = kNative == 16 ? 16 : 4;  // rows whose chains fit in the registers beside turned weights

// Outputs that are computed side by side, one a lane, and their weights, which follow each other in memory.
template <class T>
struct Lanes {
  int64_t column, count;
  const T* weights;
  int64_t ld;
  bool more;  // as many follow
  const T* operator[](int64_t j) const { return weights + std::min(j, count - 1) * ld; }
};

// The weights of kLanes lanes at a step of k. Where none is left over, a pointer for each four of them and one distance
// serve all: more would not stay in registers.
template <class T, int kLanes, bool kWhole>
class Steps {
 public:
  // `fetch`: what the next outputs read is asked for along the way.
  Steps(const Lanes<T>& lanes, bool fetch)
      : lanes_(lanes), ld_(lanes.ld), next_(lanes.weights + (fetch ? kLanes * lanes.ld : 0)), fetched_(fetch) {
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
  // For each load as much of the next outputs, in the order in which it lies: memory then delivers one stream. Several
  // lines asked for at once would hold up the loads behind them.
  HWY_INLINE void fetch_next() {
    __builtin_prefetch(next_, 0, 3);
    next_ += fetched_ ? kTurned<T> * kNative / 8 : 0;
  }

 private:
  const Lanes<T>& lanes_;
  const T* four_[kLanes / 4];
  int64_t ld_, k_ = 0;
  const T* next_;
  bool fetched_;
};

// R rows by V registers of outputs. An fma of a chain waits for the one before: R * V chains are under way at once.
template <class T, int R, int V, bool kWhole>
HWY_INLINE void turned_block(const FewRows& f, int64_t row, const Lanes<T>& w) {
  const Gemm& g = f.g;
  const size_t bytes = static_cast<size_t>(w.count) * sizeof(float);
  alignas(64) float edge[R][V * kNative] = {};
  for (int r = 0; r < R; ++r) {
    const float* start = g.accumulate ? g.c + (row + r) * g.ldc : g.bias;
    if (start) std::memcpy(edge[r], start + w.column, bytes);
  }
  Several<Native, R * V> sum;
  unrolled<R * V>([&](auto i) HEED_INLINED { at<i>(sum) = hn::Load(Tag(), edge[i / V] + i % V * kNative); });
  Steps<T, V * kNative, kWhole> steps(w, row == 0 && w.more);
  const int64_t M = g.M, K = g.K;
  const float* x = f.x + row;
  int64_t k = 0;
  for (; k + kTurned<T> <= K; k += kTurned<T>, x += kTurned<T> * M, steps.advance(kTurned<T>)) {
    unrolled<V>([&](auto v) HEED_INLINED {
      const Turned<T> turned(steps.from(v * kNative), 0, [&](int) HEED_INLINED { steps.fetch_next(); });
      unrolled<kTurned<T>>([&](auto i) HEED_INLINED {
        const Native weights = turned.template step<i>();
        unrolled<R>([&](auto r) HEED_INLINED {
          Native& s = at<r * V + v>(sum);
          s = hn::MulAdd(hn::Set(Tag(), x[i * M + r]), weights, s);
        });
      });
    });
  }
  unrolled<R * V>([&](auto i) HEED_INLINED { hn::Store(at<i>(sum), Tag(), edge[i / V] + i % V * kNative); });
  for (int r = 0; r < R; ++r) {
    for (int64_t j = 0; j < w.count; ++j) {
      for (int64_t i = k; i < K; ++i) edge[r][j] = std::fma(f.x[i * M + row + r], to_f32(w[j][i]), edge[r][j]);
    }
    std::memcpy(g.c + (row + r) * g.ldc + w.column, edge[r], bytes);
  }
}

template <class T, int V, bool kWhole>
HWY_NOINLINE void turned_rows(const FewRows& f, const Lanes<T>& w) {
  by_groups<kMostTurned>(f.g.M, [&](auto rows, int64_t row)
                                    HEED_INLINED { turned_block<T, decltype(rows)::value, V, kWhole>(f, row, w); });
}

template <class T, int V>
void few_rows_turned(const FewRows& f, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = V * kNative;
  const Operand& b = f.g.b;
  for (int64_t column = begin; column < end; column += kLanes) {
    const bool more = column + 2 * kLanes <= end && b.ld == f.g.K;
    const Lanes<T> lanes{column, std::min(kLanes, end - column), b.at<T>(column * b.ld), b.ld, more};
    lanes.count == kLanes ? turned_rows<T, V, true>(f, lanes) : turned_rows<T, V, false>(f, lanes);
  }
}

// Two registers where the chains of one would be slower than memory, and where there is room to turn two.
template <class T>
void few_rows_out_in(const FewRows& f, int64_t begin, int64_t end) {
  constexpr bool kWide = kNative == 16, kTwoBytes = sizeof(T) == 2;
  constexpr int kForOne = !kWide ? 2 : 1, kForMore = kTwoBytes && !kWide ? 2 : 1;
  f.g.M == 1 ? few_rows_turned<T, kForOne>(f, begin, end) : few_rows_turned<T, kForMore>(f, begin, end);
}

#endif
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
