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

// Memory that the next piece of work will touch, asked for while this one multiplies: short rows far apart are
// more than the CPU guesses on its own, and asking for many lines at once would stop it.
class Ahead {
 public:
  // Rows of `columns` floats at data + r * ld.
  void add(const float* data, int64_t ld, int64_t rows, int64_t columns) {
    if (count_ < kMost && rows > 0) list_[count_++] = {data, ld, rows, (columns + kLine - 1) / kLine};
  }
  // Where to ask next and how far apart: down the rows, one cache line of each.
  const float* at() const { return count_ > 0 ? list_[count_ - 1].data + row_ * list_[count_ - 1].ld : nothing_; }
  int64_t step() const { return count_ > 0 ? list_[count_ - 1].ld : 0; }
  // So many rows were asked for.
  void move(int64_t rows) {
    if (count_ == 0) return;
    Area& area = list_[count_ - 1];
    row_ += rows;
    if (row_ < area.rows) return;
    row_ = 0;
    area.data += kLine;
    if (--area.lines == 0) --count_;
  }

 private:
  struct Area {
    const float* data;
    int64_t ld, rows, lines;
  };
  static constexpr int64_t kLine = 16;
  static constexpr int kMost = 12;
  int count_ = 0;
  int64_t row_ = 0;
  Area list_[kMost];
  float nothing_[1] = {};
};

// C = start + A B for matrices that lie in cache, on one thread. C is (rows, 16 * vectors), A (rows, depth),
// B (depth, 16 * vectors). Each output is one chain of fused multiply-adds over the depth, upwards.
struct TileProduct {
  int64_t rows, vectors, depth;
  const float* a;
  int64_t a_row, a_depth;  // element (r, k) at a + r * a_row + k * a_depth; one of the two is 1
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  const float* start = nullptr;  // what the chains start at, rows like C's; null: zero
  int64_t start_row = 0;
  const float* factor = nullptr;  // one a row, multiplied into the finished sums; or null
  // Row r needs only the depths in [r + begin, r + end): what lies outside is zero in A as far as it is read, and
  // where B is not finite there it is not read at all.
  int64_t begin = -(int64_t{1} << 40), end = int64_t{1} << 40;
  Ahead* ahead = nullptr;  // fetched from along the way
};
void product(const TileProduct& p);
// At most this many rows go together, so A is read at most that far beside a row's own range.
constexpr int64_t kMaxGroup = 14;

// 2^x for x <= 0; exactly 1 at 0, exactly 0 from -127 down; 1 ulp. NaN stays NaN.
HWY_INLINE Floats16 exp2_nonpositive(Floats16 x) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  // Adding 1.5 * 2^23 + 127 leaves round(x) + 127 in the low bits: the exponent field of 2^round(x).
  const auto magic = hn::Set(d, 12582912.0f + 127.0f);
  Floats16 y;
  for (int i = 0; i < kParts; ++i) {
    const auto v = max(hn::Set(d, -127.0f), x.part[i]);
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

struct Rows {
  const float* data;
  int64_t ld, rows, columns;
  int64_t first = 0;  // the number of the first row
  const float* row(int64_t number) const { return data + (number - first) * ld; }
};

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kTurn = 1 << 30;  // one lane cannot be turned: all is done one by one
inline void turn_four(const float* const*, int64_t, float*, int64_t, float) {}
#else
constexpr int64_t kTurn = 4;

// Columns [c, c + 4) of sixteen rows become four rows of sixteen. Blocks of four by four floats are gathered so
// that each lies in one 128-bit part and can be turned there.
HWY_INLINE void turn_four(const float* const* from, int64_t c, float* to, int64_t to_row, float scale) {
  const Tag d;
  const hn::Repartition<double, Tag> d2;
  const auto factor = hn::Set(d, scale);
  for (int i = 0; i < kParts; ++i) {
    Native row[4];
    for (int t = 0; t < 4; ++t) {
      const float* const* rows = from + i * kNative + t;
      row[t] = hn::LoadDup128(d, rows[0] + c);
      for (size_t block = 1; block < kNative / 4; ++block) {
        const auto later = hn::Not(hn::FirstN(d, 4 * block));
        row[t] = hn::IfThenElse(later, hn::LoadDup128(d, rows[4 * block] + c), row[t]);
      }
    }
    const auto low01 = hn::BitCast(d2, hn::InterleaveLower(d, row[0], row[1]));
    const auto low23 = hn::BitCast(d2, hn::InterleaveLower(d, row[2], row[3]));
    const auto up01 = hn::BitCast(d2, hn::InterleaveUpper(d, row[0], row[1]));
    const auto up23 = hn::BitCast(d2, hn::InterleaveUpper(d, row[2], row[3]));
    float* y = to + i * kNative;
    hn::StoreU(hn::Mul(factor, hn::BitCast(d, hn::InterleaveLower(d2, low01, low23))), d, y);
    hn::StoreU(hn::Mul(factor, hn::BitCast(d, hn::InterleaveUpper(d2, low01, low23))), d, y + to_row);
    hn::StoreU(hn::Mul(factor, hn::BitCast(d, hn::InterleaveLower(d2, up01, up23))), d, y + 2 * to_row);
    hn::StoreU(hn::Mul(factor, hn::BitCast(d, hn::InterleaveUpper(d2, up01, up23))), d, y + 3 * to_row);
  }
}
#endif

// to[c][r] = scale * from[r][c]; to_row is the number of rows, at least 1, rounded up to whole vectors, and lanes
// behind the last row repeat it.
inline void transpose(const Rows& from, float* to, int64_t to_row, float scale) {
  for (int64_t r = 0; r < to_row; r += kWidth) {
    const float* row[kWidth];
    for (int64_t i = 0; i < kWidth; ++i) row[i] = from.data + std::min(r + i, from.rows - 1) * from.ld;
    int64_t c = 0;
    for (; c + kTurn <= from.columns; c += kTurn) turn_four(row, c, to + c * to_row + r, to_row, scale);
    for (; c < from.columns; ++c) {
      for (int64_t i = 0; i < kWidth; ++i) to[c * to_row + r + i] = scale * row[i][c];
    }
  }
}

// A copy with rows of to_row floats, a multiple of 16, zeros behind the columns. factors: one a row, or null.
inline void copy_rows(const Rows& from, float* to, int64_t to_row, const float* factors = nullptr) {
  constexpr int64_t kAheadRows = 8;
  const int64_t whole = from.columns / kWidth * kWidth;
  for (int64_t r = 0; r < from.rows; ++r) {
    const float* x = from.data + r * from.ld;
    float* y = to + r * to_row;
    const Floats16 factor = set(factors ? factors[r] : 1.0f);
    for (int64_t c = 0; c < whole; c += kWidth) {
      __builtin_prefetch(x + kAheadRows * from.ld + c);
      store(factor * load(x + c), y + c);
    }
    if (whole < to_row) store(factor * load_n(x + whole, from.columns - whole), y + whole);
  }
}

// Rows index[0], index[1], ... of `from` one below the other, as copy_rows lays them.
inline void gather_rows(const Rows& from, const int32_t* index, float* to, int64_t to_row) {
  constexpr int64_t kAheadRows = 12, kLine = 16;
  for (int64_t r = 0; r < from.rows; ++r) {
    const float* ahead = from.data + index[std::min(r + kAheadRows, from.rows - 1)] * from.ld;
    for (int64_t c = 0; c < from.columns; c += kLine) __builtin_prefetch(ahead + c);
    copy_rows({from.data + index[r] * from.ld, 0, 1, from.columns}, to + r * to_row, to_row);
  }
}

// Where rows that serve as B lie: in place when they need no padding and are read few times, else copied,
// since rows far apart share few sets of the first cache.
inline Rows rows_for_product(const Rows& from, int64_t readers, float* room) {
  if (from.columns % kWidth == 0 && readers <= 16) return from;
  const int64_t ld = round_up(from.columns, kWidth);
  copy_rows(from, room, ld);
  return {room, ld, from.rows, from.columns, from.first};
}

// to (+)= from; from has rows of whole vectors.
inline void write_rows(const Rows& from, float* to, int64_t to_row, bool accumulate) {
  constexpr int64_t kAheadRows = 8;
  for (int64_t r = 0; r < from.rows; ++r) {
    const float* x = from.data + r * from.ld;
    float* y = to + r * to_row;
    for (int64_t c = 0; c < from.columns; c += kWidth) {
      __builtin_prefetch(y + kAheadRows * to_row + c, 1);
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
