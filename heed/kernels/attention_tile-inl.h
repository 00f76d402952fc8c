// The parts that attention is made of: small products in registers, transposed copies, exponentials.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_TILE_INL_H_
#undef HEED_KERNELS_ATTENTION_TILE_INL_H_
#else
#define HEED_KERNELS_ATTENTION_TILE_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// C (+)= A B for matrices that lie in cache, on one thread. C is (rows, 16 * vectors), A (rows, depth),
// B (depth, 16 * vectors). Each output is one chain of fused multiply-adds over the depth, upwards.
struct Product {
  int64_t rows, vectors, depth;
  const float* a;
  int64_t a_row, a_depth;  // element (r, k) at a + r * a_row + k * a_depth; one of the two is 1
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool accumulate = false;  // the chains start at C
  // Row r needs only the depths in [r + begin, r + end): what lies outside is zero in A as far as it is read.
  int64_t begin = -(int64_t{1} << 40), end = int64_t{1} << 40;
};
void product(const Product& p);
// At most this many rows go together, so A is read at most that far beside a row's own range.
constexpr int64_t kMaxGroup = 14;

// 2^x for x <= 0; exactly 1 at 0, exactly 0 from -127 down; 1 ulp. NaN stays NaN.
HWY_INLINE F16 exp2_nonpositive(F16 x) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  // Adding 1.5 * 2^23 + 127 leaves round(x) + 127 in the low bits: the exponent field of 2^round(x).
  const auto magic = hn::Set(d, 12582912.0f + 127.0f);
  F16 y;
  for (int i = 0; i < kParts; ++i) {
    const auto v = hn::Max(hn::Set(d, -127.0f), x.part[i]);
    const auto shifted = hn::Add(v, magic);
    const auto f = hn::Sub(v, hn::Sub(shifted, magic));
    const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    auto p = hn::MulAdd(f, hn::Set(d, 1.535336182e-4f), hn::Set(d, 1.339887445e-3f));
    p = hn::MulAdd(f, p, hn::Set(d, 9.618437358e-3f));
    p = hn::MulAdd(f, p, hn::Set(d, 5.550332471e-2f));
    p = hn::MulAdd(f, p, hn::Set(d, 2.402264791e-1f));
    p = hn::MulAdd(f, p, hn::Set(d, 6.931472029e-1f));
    p = hn::MulAdd(f, p, hn::Set(d, 1.0f));
    y.part[i] = hn::Mul(p, power);
  }
  return y;
}

// log2(x) for normal x > 0, by atanh of (z - 1) / (z + 1) with z in [sqrt(1/2), sqrt(2)).
HWY_INLINE F16 log2_positive(F16 x) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  F16 y;
  for (int i = 0; i < kParts; ++i) {
    const auto bits = hn::BitCast(di, x.part[i]);
    const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
    const auto z = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
    const auto one = hn::Set(d, 1.0f);
    const auto f = hn::Div(hn::Sub(z, one), hn::Add(z, one));
    const auto f2 = hn::Mul(f, f);
    auto p = hn::MulAdd(f2, hn::Set(d, 0.320598898f), hn::Set(d, 0.412198583f));
    p = hn::MulAdd(f2, p, hn::Set(d, 0.577078016f));
    p = hn::MulAdd(f2, p, hn::Set(d, 0.961796694f));
    p = hn::MulAdd(f2, p, hn::Set(d, 2.88539008f));
    y.part[i] = hn::MulAdd(f, p, hn::ConvertTo(d, exponent));
  }
  return y;
}

// Four by four: to[c][r] = scale * from[r][c].
HWY_INLINE void transpose4(const float* from, int64_t from_row, float* to, int64_t to_row, float scale) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t c = 0; c < 4; ++c) {
    for (int64_t r = 0; r < 4; ++r) to[c * to_row + r] = scale * from[r * from_row + c];
  }
#else
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> d2;
  const auto factor = hn::Set(d, scale);
  const auto r0 = hn::Mul(factor, hn::LoadU(d, from)), r1 = hn::Mul(factor, hn::LoadU(d, from + from_row));
  const auto r2 = hn::Mul(factor, hn::LoadU(d, from + 2 * from_row));
  const auto r3 = hn::Mul(factor, hn::LoadU(d, from + 3 * from_row));
  const auto low01 = hn::BitCast(d2, hn::InterleaveLower(d, r0, r1)), low23 = hn::BitCast(d2, hn::InterleaveLower(d, r2, r3));
  const auto up01 = hn::BitCast(d2, hn::InterleaveUpper(d, r0, r1)), up23 = hn::BitCast(d2, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, low01, low23)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, up01, up23)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, up01, up23)), d, to + 3 * to_row);
#endif
}

struct Rows {
  const float* data;
  int64_t ld, rows, columns;
};

// to[c][r] = scale * from[r][c], with zeros for r in [rows, to_row).
inline void transpose(const Rows& from, float* to, int64_t to_row, float scale) {
  const int64_t rows4 = from.rows / 4 * 4, columns4 = from.columns / 4 * 4;
  for (int64_t c = 0; c < columns4; c += 4) {
    for (int64_t r = 0; r < rows4; r += 4) {
      transpose4(from.data + r * from.ld + c, from.ld, to + c * to_row + r, to_row, scale);
    }
  }
  for (int64_t c = 0; c < from.columns; ++c) {
    for (int64_t r = c < columns4 ? rows4 : 0; r < from.rows; ++r) to[c * to_row + r] = scale * from.data[r * from.ld + c];
    for (int64_t r = from.rows; r < to_row; ++r) to[c * to_row + r] = 0.0f;
  }
}

// A copy with rows of to_row floats, a multiple of 16, zeros behind the columns.
inline void copy_rows(const Rows& from, float* to, int64_t to_row, float scale = 1.0f) {
  const F16 factor = set(scale);
  const int64_t whole = from.columns / kWidth * kWidth;
  for (int64_t r = 0; r < from.rows; ++r) {
    const float* x = from.data + r * from.ld;
    float* y = to + r * to_row;
    for (int64_t c = 0; c < whole; c += kWidth) store(factor * load(x + c), y + c);
    if (whole < to_row) store(factor * load_n(x + whole, from.columns - whole), y + whole);
  }
}

// Where rows that serve as B lie: in place when they need no padding and are read few times, else copied,
// since rows far apart share few sets of the first cache.
inline Rows rows_for_product(const Rows& from, int64_t readers, float* room) {
  if (from.columns % kWidth == 0 && readers <= 16) return from;
  const int64_t ld = round_up(from.columns, kWidth);
  copy_rows(from, room, ld);
  return {room, ld, from.rows, from.columns};
}

// to (+)= from; from has rows of whole vectors.
inline void write_rows(const Rows& from, float* to, int64_t to_row, bool accumulate) {
  for (int64_t r = 0; r < from.rows; ++r) {
    const float* x = from.data + r * from.ld;
    float* y = to + r * to_row;
    for (int64_t c = 0; c < from.columns; c += kWidth) {
      const int64_t n = std::min<int64_t>(kWidth, from.columns - c);
      if (n == kWidth) {
        store(accumulate ? load(y + c) + load(x + c) : load(x + c), y + c);
      } else {
        store_n(accumulate ? load_n(y + c, n) + load(x + c) : load(x + c), y + c, n);
      }
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
