// Operands of a product in the order the innermost part reads them, in f32 and in pairs of bf16.
#if defined(HEED_KERNELS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_PACK_INL_H_
#undef HEED_KERNELS_GEMM_PACK_INL_H_
#else
#define HEED_KERNELS_GEMM_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "heed/base/half.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/gemm_micro-inl.h"
#include "heed/kernels/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

using TagU32 = hn::RebindToUnsigned<Tag>;

// Stored numbers as f32: T is float, StoredF16 or StoredBf16.
template <class T>
using VectorType = std::conditional_t<std::is_same_v<T, StoredF16>, hwy::float16_t, hwy::bfloat16_t>;
template <class T, class Bits>
HWY_INLINE Native promote(Bits bits) {
  return hn::PromoteTo(Tag(), hn::BitCast(hn::Rebind<VectorType<T>, Tag>(), bits));
}
template <class T>
HWY_INLINE Native load_numbers(const T* p) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::LoadU(Tag(), p);
  } else if constexpr (kNative == 1) {
    return hn::Set(Tag(), to_f32(*p));
  } else {
    return promote<T>(hn::LoadU(hn::Rebind<uint16_t, Tag>(), reinterpret_cast<const uint16_t*>(p)));
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
HWY_INLINE void pack_transposed_block(float* HWY_RESTRICT out, const T* const* rows, int64_t k_size) {
  for (int64_t k = 0; k < k_size; ++k) {
    for (int j = 0; j < kNative; ++j) out[k * kStrip + j] = to_f32(rows[j][k]);
  }
}
#else
// Pairs of two bytes are turned as one word, whose lower half is the first, where taking them apart costs little.
template <class T>
constexpr bool kInPairs = std::is_same_v<T, StoredBf16> || (std::is_same_v<T, StoredF16> && kNative == 16);
template <class T>
constexpr int kTurned = kInPairs<T> ? 16 : 8;

// Eight words of row i, and of row i + 8 where there is room: numbers as f32, or pairs. Rows is an array of pointers, or
// what gives a pointer for each row.
template <class Rows>
HWY_INLINE Native load_eight(const Rows& rows, int i, int64_t k) {
  using T = std::remove_cvref_t<decltype(rows[0][0])>;
  if constexpr (!kInPairs<T> && sizeof(T) == 2) {
    return load_numbers(rows[i] + k);
  } else if constexpr (kNative == 8) {
    return hn::LoadU(Tag(), reinterpret_cast<const float*>(rows[i] + k));
  } else {
    const hn::Half<Tag> half;
    return hn::Combine(Tag(), hn::LoadU(half, reinterpret_cast<const float*>(rows[i + 8] + k)),
                       hn::LoadU(half, reinterpret_cast<const float*>(rows[i] + k)));
  }
}

// Steps k, k + 1, ... of kNative rows: a register a step, a row in each lane.
template <class T>
class Turned {
 public:
  template <class Rows>
  HWY_INLINE Turned(const Rows& rows, int64_t k) : Turned(rows, k, [](int) HEED_INLINED {}) {}
  // after(i) is called after the i-th of eight loads.
  template <class Rows, class After>
  HWY_INLINE Turned(const Rows& rows, int64_t k, After after) {
    unrolled<8>([&](auto i) HEED_INLINED {
      words_[i] = load_eight(rows, i, k);
      after(i);
    });
    turn_eights(words_);
  }

  template <int I>
  HWY_INLINE Native step() const {
    if constexpr (!kInPairs<T>) {
      return words_[I];
    } else if constexpr (std::is_same_v<T, StoredBf16>) {
      const TagU32 d;
      const auto bits = hn::BitCast(d, words_[I / 2]);
      return hn::BitCast(Tag(), I % 2 ? hn::And(bits, hn::Set(d, 0xFFFF0000u)) : hn::ShiftLeft<16>(bits));
    } else {
      // Two words hold four steps: the even ones of both, then the odd ones.
      const hn::Repartition<uint16_t, Tag> d;
      const hn::Half<decltype(d)> half;
      const auto low = hn::BitCast(d, words_[I / 4 * 2]), high = hn::BitCast(d, words_[I / 4 * 2 + 1]);
      const auto steps = I % 2 ? hn::ConcatOdd(d, high, low) : hn::ConcatEven(d, high, low);
      return promote<T>(I % 4 < 2 ? hn::LowerHalf(half, steps) : hn::UpperHalf(half, steps));
    }
  }

 private:
  Native words_[8];
};

// out[k * kStrip + j] = rows[j][k] for kNative rows.
template <class T>
HWY_INLINE void pack_transposed_block(float* HWY_RESTRICT out, const T* const* rows, int64_t k_size) {
  int64_t k = 0;
  for (; k + kTurned<T> <= k_size; k += kTurned<T>) {
    const Turned<T> turned(rows, k);
    unrolled<kTurned<T> >([&](auto i)
                              HEED_INLINED { hn::StoreU(turned.template step<i>(), Tag(), out + (k + i) * kStrip); });
  }
  for (; k < k_size; ++k) {
    for (int j = 0; j < kNative; ++j) out[k * kStrip + j] = to_f32(rows[j][k]);
  }
}
#endif

template <class T>
HWY_INLINE void copy_numbers(float* HWY_RESTRICT to, const T* HWY_RESTRICT from, int64_t n) {
  int64_t i = 0;
  for (; i + kNative <= n; i += kNative) hn::StoreU(load_numbers(from + i), Tag(), to + i);
  for (; i < n; ++i) to[i] = to_f32(from[i]);
}

// body(T()) with the C++ type of the numbers.
template <class Body>
HWY_INLINE void with_number_type(NumberType type, Body body) {
  if (type == NumberType::kF16) return body(StoredF16());
  if (type == NumberType::kBf16) return body(StoredBf16());
  body(float());
}

// A part of b: rows [k, k + k_size), columns [column, column + columns), at most a strip of them.
struct StripOfB {
  const Operand& b;
  int64_t k, k_size, column, columns;
};
// A part of a: rows [row, row + rows), columns [k, k + k_size).
struct BlockOfA {
  const Operand& a;
  int64_t row, rows, k, k_size;
};

// Packing in f32. Columns beyond the strip's hold anything: their outputs are never stored.
struct F32 {
  using Step = F32Step;
  static constexpr bool kPacksA = false;
  static constexpr int64_t words(int64_t k) { return k; }  // of 32 bits that k numbers take

  static HWY_INLINE void pack_strip(float* HWY_RESTRICT out, const StripOfB& s) {
    with_number_type(s.b.type, [&](auto type) HWY_ATTR { pack_strip_of<decltype(type)>(out, s); });
  }

 private:
  template <class T>
  static HWY_INLINE void pack_strip_of(float* HWY_RESTRICT out, const StripOfB& s) {
    if (!s.b.transposed) {
      const T* HWY_RESTRICT from = s.b.at<T>(s.k * s.b.ld + s.column);
      for (int64_t k = 0; k < s.k_size; ++k, from += s.b.ld, out += kStrip) copy_numbers(out, from, s.columns);
      return;
    }
    for (int64_t v = 0; v * kNative < s.columns; ++v) {
      const T* rows[kNative];
      for (int j = 0; j < kNative; ++j) {
        rows[j] = s.b.at<T>((s.column + std::min<int64_t>(v * kNative + j, s.columns - 1)) * s.b.ld + s.k);
      }
      pack_transposed_block(out + v * kNative, rows, s.k_size);
    }
  }
};

// Rounds to bf16, ties to even; the result is in the upper half, the lower holds anything. NaN stays NaN.
HWY_INLINE hn::Vec<TagU32> round_to_bf16(Native x) {
  const TagU32 d;
  const auto bits = hn::BitCast(d, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFu)));
  const auto quiet = hn::Or(bits, hn::Set(d, 0x00400000u));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(x)), quiet, rounded);
}
// How pairs are made for a step that reads them. Two numbers in one word, the first in the lower half.
template <class Step>
HWY_INLINE Native pair(Native first, Native second) {
  const TagU32 d;
  const auto upper = hn::And(round_to_bf16(second), hn::Set(d, 0xFFFF0000u));
  return hn::BitCast(Tag(), hn::Or(hn::ShiftRight<16>(round_to_bf16(first)), upper));
}
#if HWY_TARGET != HWY_SCALAR
// Neighbours in pairs: of low first, then of high.
template <class Step>
HWY_INLINE Native pairs_of(Native low, Native high) {
  return pair<Step>(hn::ConcatEven(Tag(), high, low), hn::ConcatOdd(Tag(), high, low));
}
#endif
#if HWY_TARGET == HWY_AVX3
// The same rounding by the CPU. It takes numbers below 2^-126 for 0, and so does the product.
template <>
HWY_INLINE Native pairs_of<NativeBf16Step>(Native low, Native high) {
  Native out;
  __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(out.raw) : "v"(high.raw), "v"(low.raw));
  return out;
}
template <>
HWY_INLINE Native pair<NativeBf16Step>(Native first, Native second) {
  alignas(64) static constexpr uint16_t kInTurn[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const Native both = pairs_of<NativeBf16Step>(first, second);
  return Native{
      _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), _mm512_castps_si512(both.raw)))};
}
#endif

// out[i] = (x[2i], x[2i + 1]) for n numbers, a missing last one being 0.
template <class Step>
HWY_INLINE void pack_pairs(float* HWY_RESTRICT out, const float* HWY_RESTRICT x, int64_t n) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + 2 * kNative <= n; i += 2 * kNative) {
    hn::StoreU(pairs_of<Step>(hn::LoadU(Tag(), x + i), hn::LoadU(Tag(), x + i + kNative)), Tag(), out + i / 2);
  }
#endif
  alignas(64) float word[kNative];
  for (; i < n; i += 2) {
    hn::StoreU(pair<Step>(hn::Set(Tag(), x[i]), hn::Set(Tag(), i + 1 < n ? x[i + 1] : 0.0f)), Tag(), word);
    std::memcpy(out + i / 2, word, sizeof(float));
  }
}
// out[i] = (x[i], y[i]) for n numbers of each.
template <class Step>
HWY_INLINE void pack_two_rows(float* HWY_RESTRICT out, const float* HWY_RESTRICT x, const float* HWY_RESTRICT y,
                              int64_t n) {
  by_sixteen(n, [=](int64_t i, auto lanes) HWY_ATTR {
    const Floats16 second = y ? load(y + i, lanes) : zero();
    store(each(load(x + i, lanes), second, [](Native a, Native b) HWY_ATTR { return pair<Step>(a, b); }), out + i,
          lanes);
  });
}

// Packing in pairs of bf16 along k.
template <class AnyStep>
struct Bf16 {
  using Step = AnyStep;
  static constexpr bool kPacksA = true;
  static constexpr int64_t words(int64_t k) { return (k + 1) / 2; }

  // The same order as in f32, of words.
  static HWY_INLINE void pack_strip(float* HWY_RESTRICT out, const StripOfB& s) {
    if (!s.b.transposed) {
      pack_rows(out, kStrip, s.b.at(s.k * s.b.ld + s.column), s.b.ld, s.k_size, s.columns);
      return;
    }
    constexpr int64_t kChunk = 256;
    alignas(64) float words_of[kNative][kChunk / 2];
    const float* rows[kNative];
    for (int j = 0; j < kNative; ++j) rows[j] = words_of[j];
    for (int64_t k = 0; k < s.k_size; k += kChunk) {
      const int64_t size = std::min(kChunk, s.k_size - k);
      for (int64_t v = 0; v * kNative < s.columns; ++v) {
        for (int64_t j = 0; j < kNative; ++j) {
          const int64_t column = s.column + std::min<int64_t>(v * kNative + j, s.columns - 1);
          pack_pairs<Step>(words_of[j], s.b.at(column * s.b.ld + s.k + k), size);
        }
        pack_transposed_block(out + k / 2 * kStrip + v * kNative, rows, words(size));
      }
    }
  }

  // By rows at a pitch of words(k_size); if transposed by columns, at a pitch of the rows.
  static HWY_INLINE void pack_a(float* HWY_RESTRICT out, const BlockOfA& block) {
    const Operand& a = block.a;
    if (a.transposed) {
      pack_rows(out, block.rows, a.at(block.k * a.ld + block.row), a.ld, block.k_size, block.rows);
      return;
    }
    for (int64_t r = 0; r < block.rows; ++r, out += words(block.k_size)) {
      pack_pairs<Step>(out, a.at((block.row + r) * a.ld + block.k), block.k_size);
    }
  }

 private:
  // Pairs of rows: those of step i at out + i * pitch.
  static HWY_INLINE void pack_rows(float* HWY_RESTRICT out, int64_t pitch, const float* HWY_RESTRICT from, int64_t ld,
                                   int64_t rows, int64_t columns) {
    for (int64_t k = 0; k < rows; k += 2, out += pitch) {
      pack_two_rows<Step>(out, from + k * ld, k + 1 < rows ? from + (k + 1) * ld : nullptr, columns);
    }
  }
};

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
