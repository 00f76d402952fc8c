// The innermost part of a product: a tile of up to kRows x kStrip outputs kept in registers for a whole
// block of k, and the packing of its operands. Six rows by four registers (two where registers are few)
// need the fewest loads a multiply-add of all shapes that fit.
#if defined(HEED_KERNELS_GEMM_MICRO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_MICRO_INL_H_
#undef HEED_KERNELS_GEMM_MICRO_INL_H_
#else
#define HEED_KERNELS_GEMM_MICRO_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "heed/kernels/gemm.h"
#include "heed/kernels/simd-inl.h"

#ifndef HEED_INLINED
#define HEED_INLINED __attribute__((always_inline)) HWY_ATTR  // of a lambda
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int kRows = kNative == 1 ? 2 : 6;
constexpr int kVectors = kNative == 16 ? 4 : 2;
constexpr int kStrip = kVectors * kNative;

// `tiles` tiles below each other, of the same rows each, against one strip of b.
struct MicroTiles {
  int64_t tiles, k;
  const float* a;                 // element (r, k) at a[r * a_row + k] by rows, at a[k * a_step + r] by columns
  int64_t a_row, a_step, a_tile;  // from tile to tile by a_tile
  const float* b;                 // kStrip floats of step k at b + k * b_step
  int64_t b_step;
  float* b_copy;       // where given, what is read of b is left here packed for the tiles that follow
  const float* start;  // what the chains start with: row r at start + r * start_ld
  int64_t start_ld;
  float* c;
  int64_t ldc;
  // What the next strip will read is fetched into L2: during sixteen steps of k the four cache lines
  // ahead + i * ahead_line; then ahead moves on by ahead_step, and from tile to tile by ahead_tile.
  const float* ahead;
  int64_t ahead_line, ahead_step, ahead_tile;
};

// Registers by constant index. An array would be kept on the stack: compilers split structs sooner than arrays.
struct Registers {
  Native r00, r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11;
  Native r12, r13, r14, r15, r16, r17, r18, r19, r20, r21, r22, r23;
  using Member = Native Registers::*;
};
constexpr Registers::Member kRegister[24] = {
    &Registers::r00, &Registers::r01, &Registers::r02, &Registers::r03, &Registers::r04, &Registers::r05,
    &Registers::r06, &Registers::r07, &Registers::r08, &Registers::r09, &Registers::r10, &Registers::r11,
    &Registers::r12, &Registers::r13, &Registers::r14, &Registers::r15, &Registers::r16, &Registers::r17,
    &Registers::r18, &Registers::r19, &Registers::r20, &Registers::r21, &Registers::r22, &Registers::r23};
template <int I>
HWY_INLINE Native& at(Registers& r) {
  return r.*kRegister[I];
}

// The same for values of any kind.
template <class V, int N>
struct Several {
  V first;
  Several<V, N - 1> others;
};
template <class V>
struct Several<V, 1> {
  V first;
};
template <int I, class V, int N>
HWY_INLINE V& at(Several<V, N>& several) {
  if constexpr (I == 0) {
    return several.first;
  } else {
    return at<I - 1>(several.others);
  }
}

// body(integral_constant 0), ..., body(integral_constant N - 1), unrolled.
template <class Body, int... I>
HWY_INLINE void unrolled_over(Body body, std::integer_sequence<int, I...>) {
  (body(std::integral_constant<int, I>()), ...);
}
template <int N, class Body>
HWY_INLINE void unrolled(Body body) {
  unrolled_over(body, std::make_integer_sequence<int, N>());
}

// How a chain advances by a step of k. In f32 a step is one product.
struct F32Step {
  static HWY_INLINE void advance(Native a, Native b, Native& sum) { sum = hn::MulAdd(a, b, sum); }
};
// In bf16 a step is two: a lane holds the pair (2k, 2k + 1), the latter in the upper half, which is added first.
struct Bf16Step {
  static HWY_INLINE void advance(Native a, Native b, Native& sum) {
    const hn::RebindToUnsigned<Tag> bits;
    const auto upper = [&](Native x) HEED_INLINED {
      return hn::BitCast(Tag(), hn::And(hn::BitCast(bits, x), hn::Set(bits, 0xFFFF0000u)));
    };
    const auto lower = [&](Native x)
                           HEED_INLINED { return hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::BitCast(bits, x))); };
    sum = hn::MulAdd(lower(a), lower(b), hn::MulAdd(upper(a), upper(b), sum));
  }
};
#if HWY_TARGET == HWY_AVX3
// The same in one instruction, which Highway has no name for. Only for CPUs that has_native_bf16().
struct NativeBf16Step {
  static HWY_INLINE void advance(Native a, Native b, Native& sum) {
    const __m512 x = a.raw, y = b.raw;
    __m512 s = sum.raw;
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(y), "v"(x));
    sum = Native{s};
  }
};
#endif

// One step of k: R x NV chains advance.
template <class Step, int R, int NV, class ElementOfA>
HWY_INLINE void micro_step(Registers& acc, Registers& b, ElementOfA element) {
  unrolled<R>([&](auto r) HEED_INLINED {
    const Native av = hn::Set(Tag(), element(r));
    unrolled<NV>([&](auto v) HEED_INLINED { Step::advance(av, at<v>(b), at<r * NV + v>(acc)); });
  });
}

// t.a, t.b, t.start, t.c and t.ahead are those of one tile.
template <class Step, int R, int NV, bool kByRows, bool kCopy>
HWY_INLINE void micro_tile(const MicroTiles& t) {
  Registers acc;
  unrolled<R * NV>(
      [&](auto i) HEED_INLINED { at<i>(acc) = hn::LoadU(Tag(), t.start + i / NV * t.start_ld + i % NV * kNative); });
  const float* HWY_RESTRICT b = t.b;
  const int64_t b_step = t.b_step;
  [[maybe_unused]] float* HWY_RESTRICT copy = t.b_copy;
  const auto next_b = [&](Registers& bv) HEED_INLINED {
    unrolled<NV>([&](auto v) HEED_INLINED { at<v>(bv) = hn::LoadU(Tag(), b + v * kNative); });
    b += b_step;
    if constexpr (kCopy) {
      unrolled<NV>([&](auto v) HEED_INLINED { hn::StoreU(at<v>(bv), Tag(), copy + v * kNative); });
      copy += kStrip;
    }
  };
  const float* ahead = t.ahead;
  const int64_t ahead_line = t.ahead_line, ahead_step = t.ahead_step;
  // A row of c in sixteen steps too: of the next tile where chains start from c, else of this one.
  const float* next_c = t.start_ld != 0 ? t.c + R * t.ldc : t.c;
  const auto all_steps = [&](auto four_steps, auto one_step, auto after_four) HEED_INLINED {
    int64_t k = t.k;
    for (; k >= 16; k -= 16) {
      const float *line = ahead, *line_of_c = next_c;
      for (int i = 0; i < 4; ++i) {
        four_steps();
        after_four(i);
        __builtin_prefetch(line, 0, 2);
        __builtin_prefetch(line_of_c, 1);
        line += ahead_line;
        line_of_c += NV * kNative / 4;
      }
      ahead += ahead_step;
      next_c += t.ldc;
    }
    for (; k > 0; --k) one_step();
  };
  if constexpr (kByRows) {
    // Two base pointers and the multiples 0, 1, 2 of a_row reach six rows.
    const int64_t a_row = t.a_row;
    const float* HWY_RESTRICT low = t.a;
    const float* HWY_RESTRICT high = t.a + 3 * a_row;
    const auto step = [&](int u) HEED_INLINED {
      Registers bv;
      next_b(bv);
      micro_step<Step, R, NV>(
          acc, bv, [&](int r) HEED_INLINED { return r < 3 ? low[r * a_row + u] : high[(r - 3) * a_row + u]; });
    };
    const auto advance = [&](int steps) HEED_INLINED {
      low += steps;
      high += steps;
    };
    const float* next = t.a + R * a_row;
    all_steps(
        [&]() HEED_INLINED {
          unrolled<4>(step);
          advance(4);
        },
        [&]() HEED_INLINED {
          step(0);
          advance(1);
        },
        // A cache line of each of the rows that come next is fetched while sixteen steps are made.
        [&](int i) HEED_INLINED {
          __builtin_prefetch(next);
          __builtin_prefetch(next + a_row);
          next += i == 3 ? 16 - 6 * a_row : 2 * a_row;
        });
  } else {
    const float* HWY_RESTRICT a = t.a;
    const auto step = [&](int) HEED_INLINED {
      Registers bv;
      next_b(bv);
      micro_step<Step, R, NV>(acc, bv, [&](int r) HEED_INLINED { return a[r]; });
      __builtin_prefetch(a + t.a_tile + R - 1);  // the end of the columns that come next
      a += t.a_step;
    };
    all_steps([&]() HEED_INLINED { unrolled<4>(step); }, [&]() HEED_INLINED { step(0); }, [](int) HEED_INLINED {});
  }
  unrolled<R * NV>([&](auto i)
                       HEED_INLINED { hn::StoreU(at<i>(acc), Tag(), t.c + i / NV * t.ldc + i % NV * kNative); });
}

// Leaves t pointing behind the last tile.
template <class Step, int R, int NV, bool kByRows, bool kCopy>
HWY_NOINLINE void micro_tiles(MicroTiles& to_do) {
  MicroTiles t = to_do;
  for (int64_t i = 0; i < to_do.tiles; ++i) {
    micro_tile<Step, R, NV, kByRows, kCopy>(t);
    t.a += t.a_tile;
    t.c += R * t.ldc;
    t.start += R * t.start_ld;
    t.ahead += t.ahead_tile;
  }
  to_do = t;
}

// Registers across that the kernels for so many columns fill: there are kernels for 1, 2 and kVectors of them.
template <class Step>
constexpr int64_t kernel_vectors(int64_t columns) {
  return std::is_same_v<Step, F32Step> && columns <= 2 * kNative ? (columns + kNative - 1) / kNative : kVectors;
}

using MicroKernel = void (*)(MicroTiles&);
template <class Step, int NV, bool kByRows, bool kCopy>
HWY_INLINE MicroKernel micro_kernel_rows(int64_t rows) {
  if constexpr (kRows == 2) {
    return rows == 1 ? micro_tiles<Step, 1, NV, kByRows, kCopy> : micro_tiles<Step, 2, NV, kByRows, kCopy>;
  } else {
    static constexpr MicroKernel kTable[] = {
        micro_tiles<Step, 1, NV, kByRows, kCopy>, micro_tiles<Step, 2, NV, kByRows, kCopy>,
        micro_tiles<Step, 3, NV, kByRows, kCopy>, micro_tiles<Step, 4, NV, kByRows, kCopy>,
        micro_tiles<Step, 5, NV, kByRows, kCopy>, micro_tiles<Step, 6, NV, kByRows, kCopy>};
    return kTable[rows - 1];
  }
}
// The kernel for 1..kRows rows and kernel_vectors() registers; only whole strips are copied.
template <class Step, bool kByRows>
HWY_INLINE MicroKernel micro_kernel(int64_t rows, int64_t vectors, bool copy) {
  if constexpr (std::is_same_v<Step, F32Step>) {
    if (copy) return micro_kernel_rows<Step, kVectors, kByRows, true>(rows);
    if (vectors == 1) return micro_kernel_rows<Step, 1, kByRows, false>(rows);
    if (vectors == 2) return micro_kernel_rows<Step, 2, kByRows, false>(rows);
  }
  return micro_kernel_rows<Step, kVectors, kByRows, false>(rows);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
