// Products with weights of 8 and 4 bits; quantised.h says what is computed. Sums of a group are whole numbers and exact, so
// each CPU may take them in its own way.
#include <algorithm>
#include <cmath>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/base/half.h"
#include "heed/kernels/gemm_kinds.h"
#include "heed/kernels/quantised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/gemm_quantised.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include "heed/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

using TagI32 = hn::RebindToSigned<Tag>;
using Words = hn::Vec<TagI32>;  // four bytes of each of kNative outputs

// Rows of x, quantised: of each group eight words of four q each, then the same q as 16 bits: eight words of the
// first and third of each four, eight of the second and fourth.
struct QuantisedRows {
  QuantisedRows(int64_t row_count, int64_t group_count)
      : groups(group_count),
        words(row_count * groups * kGroupWords),
        scales(row_count * groups),
        sums(row_count * groups) {}
  static constexpr int64_t kGroupWords = 24;
  const int32_t* at(int64_t row, int64_t group) const { return words.data() + (row * groups + group) * kGroupWords; }

  int64_t groups;
  Scratch<int32_t> words;
  Scratch<float> scales;
  Scratch<int32_t> sums;  // of the q
};

// The first group of row r at x + r * x_row.
struct GroupRows {
  const int32_t* x;
  int64_t x_row;
  const int32_t* sums;
  int64_t sums_row;
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
using TagI16 = hn::Repartition<int16_t, Tag>;
using TagU16 = hn::Repartition<uint16_t, Tag>;
using TagU8 = hn::Repartition<uint8_t, Tag>;
using Shorts = hn::Vec<TagI16>;

// Products of neighbours, added: unsigned by signed bytes to 16 bits, 16 bits to 32.
HWY_INLINE Shorts pairs_of_bytes(Words u, Words s) {
#if HWY_TARGET == HWY_AVX2
  return Shorts{_mm256_maddubs_epi16(u.raw, s.raw)};
#else
  return Shorts{_mm512_maddubs_epi16(u.raw, s.raw)};
#endif
}
HWY_INLINE Words pairs_of_shorts(Shorts a, Shorts b) {
#if HWY_TARGET == HWY_AVX2
  return Words{_mm256_madd_epi16(a.raw, b.raw)};
#else
  return Words{_mm512_madd_epi16(a.raw, b.raw)};
#endif
}
HWY_INLINE Words load_words(const uint8_t* p) { return hn::BitCast(TagI32(), hn::LoadU(TagU8(), p)); }
HWY_INLINE Words lower_halves(Words v) { return hn::And(v, hn::Set(TagI32(), 0x0F0F0F0F)); }
HWY_INLINE Words upper_halves(Words v) {
  return lower_halves(hn::BitCast(TagI32(), hn::ShiftRight<4>(hn::BitCast(TagU16(), v))));
}

// Whole numbers may be added in any order, which compilers use to keep all of them until the end.
HWY_INLINE void now(Words& x) { __asm__("" : "+v"(x.raw)); }
HWY_INLINE void now(Shorts& x) { __asm__("" : "+v"(x.raw)); }

// The sums of one group for R rows and sixteen outputs: part p of row r at<r * kParts + p>.
struct Int8Sums {
  static constexpr NumberType kType = NumberType::kInt8;
  // Bytes by bytes would overflow 16 bits: both are widened.
  template <int R>
  static HWY_INLINE void take(Several<Words, R * kParts>& sum, const uint8_t* q, const GroupRows& rows) {
    unrolled<R * kParts>([&](auto i) HEED_INLINED { at<i>(sum) = hn::Zero(TagI32()); });
    for (int w = 0; w < 8; ++w, q += 64) {
      const TagI16 d;
      Several<Shorts, kParts> even, odd;
      unrolled<kParts>([&](auto p) HEED_INLINED {
        const Shorts both = hn::BitCast(d, load_words(q + p * kNative * 4));
        at<p>(even) = hn::ShiftRight<8>(hn::ShiftLeft<8>(both));
        at<p>(odd) = hn::ShiftRight<8>(both);
      });
      unrolled<R>([&](auto r) HEED_INLINED {
        const int32_t* x = rows.x + r * rows.x_row + 8 + w;
        const Shorts x_even = hn::BitCast(d, hn::Set(TagI32(), x[0])), x_odd = hn::BitCast(d, hn::Set(TagI32(), x[8]));
        unrolled<kParts>([&](auto p) HEED_INLINED {
          Words& s = at<r * kParts + p>(sum);
          s = hn::Add(s, pairs_of_shorts(at<p>(even), x_even));
          now(s);
          s = hn::Add(s, pairs_of_shorts(at<p>(odd), x_odd));
          now(s);
        });
      });
    }
  }
};
struct Int4Sums {
  static constexpr NumberType kType = NumberType::kInt4;
  // q + 8 <= 15, so eight products of pairs fit 16 bits: 8 * 2 * 15 * 127 = 30480.
  template <int R>
  static HWY_INLINE void take(Several<Words, R * kParts>& sum, const uint8_t* q, const GroupRows& rows) {
    const TagI16 d;
    Several<Shorts, R * kParts> pairs;
    unrolled<R * kParts>([&](auto i) HEED_INLINED { at<i>(pairs) = hn::Zero(d); });
    for (int w = 0; w < 4; ++w, q += 64) {
      Several<Words, kParts> low, high;
      unrolled<kParts>([&](auto p) HEED_INLINED {
        const Words both = load_words(q + p * kNative * 4);
        at<p>(low) = lower_halves(both);
        at<p>(high) = upper_halves(both);
      });
      unrolled<R>([&](auto r) HEED_INLINED {
        const int32_t* x = rows.x + r * rows.x_row + w;
        const Words x_low = hn::Set(TagI32(), x[0]), x_high = hn::Set(TagI32(), x[4]);
        unrolled<kParts>([&](auto p) HEED_INLINED {
          Shorts& s = at<r * kParts + p>(pairs);
          s = hn::Add(s, pairs_of_bytes(at<p>(low), x_low));
          now(s);
          s = hn::Add(s, pairs_of_bytes(at<p>(high), x_high));
          now(s);
        });
      });
    }
    unrolled<R * kParts>([&](auto i) HEED_INLINED {
      const Words of_offset = hn::Set(TagI32(), 8 * rows.sums[i / kParts * rows.sums_row]);
      at<i>(sum) = hn::Sub(pairs_of_shorts(at<i>(pairs), hn::Set(d, 1)), of_offset);
    });
  }
};

#if HWY_TARGET == HWY_AVX3
// Four products of bytes and their sum in one instruction, which Highway has no name for. Only where has_native_int8().
HWY_INLINE void add_four(Words& sum, Words u, Words s) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(u.raw), "v"(s.raw));
}
template <int R>
HWY_INLINE void start_below(Several<Words, R>& sum, const GroupRows& rows, int32_t offset) {
  unrolled<R>([&](auto r) HEED_INLINED { at<r>(sum) = hn::Set(TagI32(), -offset * rows.sums[r * rows.sums_row]); });
}
struct NativeInt8Sums {
  static constexpr NumberType kType = NumberType::kInt8;
  template <int R>
  static HWY_INLINE void take(Several<Words, R>& sum, const uint8_t* q, const GroupRows& rows) {
    start_below<R>(sum, rows, 128);
    for (int w = 0; w < 8; ++w) {
      const Words u = hn::Xor(load_words(q + 64 * w), hn::Set(TagI32(), static_cast<int32_t>(0x80808080)));  // q + 128
      unrolled<R>([&](auto r) HEED_INLINED { add_four(at<r>(sum), u, hn::Set(TagI32(), rows.x[r * rows.x_row + w])); });
    }
  }
};
struct NativeInt4Sums {
  static constexpr NumberType kType = NumberType::kInt4;
  template <int R>
  static HWY_INLINE void take(Several<Words, R>& sum, const uint8_t* q, const GroupRows& rows) {
    start_below<R>(sum, rows, 8);
    for (int w = 0; w < 4; ++w) {
      const Words both = load_words(q + 64 * w), low = lower_halves(both), high = upper_halves(both);
      unrolled<R>([&](auto r) HEED_INLINED {
        const int32_t* x = rows.x + r * rows.x_row + w;
        add_four(at<r>(sum), low, hn::Set(TagI32(), x[0]));
        add_four(at<r>(sum), high, hn::Set(TagI32(), x[4]));
      });
    }
  }
};
#endif

#else
// Byte by byte.
template <NumberType type>
struct PlainSums {
  static constexpr NumberType kType = type;
  template <int R>
  static void take(Several<Words, R * kParts>& sum, const uint8_t* q, const GroupRows& rows) {
    unrolled<R * kParts>([&](auto part) {
      const auto* x = reinterpret_cast<const int8_t*>(rows.x + part / kParts * rows.x_row);
      alignas(64) int32_t total[kNative] = {};
      for (int j = 0; j < kNative; ++j) {
        const uint8_t* of_output = q + 4 * (part % kParts * kNative + j);
        for (int i = 0; i < kGroup; ++i) {
          const bool four = type == NumberType::kInt4;
          const uint8_t byte = of_output[(four ? i % 16 : i) / 4 * 64 + i % 4];
          total[j] += x[i] * (four ? (i >= 16 ? byte >> 4 : byte & 15) - 8 : static_cast<int8_t>(byte));
        }
      }
      at<part>(sum) = hn::Load(TagI32(), total);
    });
  }
};
using Int8Sums = PlainSums<NumberType::kInt8>;
using Int4Sums = PlainSums<NumberType::kInt4>;
#endif

void quantise_row(const QuantisedRows& to, int64_t row, const float* x) {
  const TagI32 d;
  for (int64_t g = 0; g < to.groups; ++g, x += kGroup) {
    const Floats16 a = load(x), b = load(x + kWidth);
    const auto magnitude = [](Native v) HWY_ATTR { return hn::Abs(v); };
    const float largest = max_of(max(each(a, magnitude), each(b, magnitude)));
    const float poison = sum(a * zero() + b * zero());  // NaN where one is not finite
    const Floats16 per_unit = set(largest < kLeastMagnitude ? 0.0f : 127 / largest);
    int32_t* words = to.words.data() + (row * to.groups + g) * QuantisedRows::kGroupWords;
    auto* bytes = reinterpret_cast<int8_t*>(words);
    Words total = hn::Zero(d);
    for (int half = 0; half < 2; ++half) {
      const Floats16 scaled = (half ? b : a) * per_unit;
      for (int i = 0; i < kParts; ++i) {
        // What is no number is any whole one of the range: the scale tells of it.
        const Words q = hn::Max(hn::Set(d, -127), hn::Min(hn::Set(d, 127), hn::NearestInt(scaled.part[i])));
        total = hn::Add(total, q);
        hn::StoreU(hn::DemoteTo(hn::Rebind<int8_t, TagI32>(), q), hn::Rebind<int8_t, TagI32>(),
                   bytes + half * kWidth + i * kNative);
      }
    }
    to.scales[row * to.groups + g] = largest / 127 + poison;
    to.sums[row * to.groups + g] = hn::GetLane(hn::SumOfLanes(d, total));
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const hn::CappedTag<int16_t, 16> shorts;
    const auto both = hn::LoadU(shorts, reinterpret_cast<const int16_t*>(bytes));
    hn::StoreU(hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), shorts, reinterpret_cast<int16_t*>(words + 8));
    hn::StoreU(hn::ShiftRight<8>(both), shorts, reinterpret_cast<int16_t*>(words + 16));
#endif
  }
}

// Sixteen outputs each of S tiles, `apart` tiles from one to the next, of R rows: several tiles far apart are read as long
// runs of memory, which CPUs fetch ahead by themselves. A single tile is read by all rows; the first of them fetch the next.
template <class Sums, int R, int S>
HWY_INLINE void tile_rows(const Gemm& g, const QuantisedRows& x, int64_t row, int64_t first_tile, int64_t apart) {
  constexpr int64_t kBytes = tile_bytes(Sums::kType);
  const int64_t groups = x.groups;
  alignas(64) float edge[S][R][kTileOutputs] = {};
  const auto each_row = [&](auto body) {
    for (int64_t s = 0; s < S; ++s) {
      const int64_t column = (first_tile + s * apart) * kTileOutputs, columns = std::min(kTileOutputs, g.N - column);
      for (int64_t r = 0; r < R; ++r) body(edge[s][r], (row + r) * g.ldc + column, column, columns);
    }
  };
  each_row([&](float* chain, int64_t at, int64_t column, int64_t columns) {
    const float* start = g.accumulate ? g.c + at : g.bias ? g.bias + column : nullptr;
    if (start) std::copy(start, start + columns, chain);
  });
  const uint8_t* tile = g.b.at<uint8_t>(first_tile * groups * kBytes);
  const int64_t tiles_apart = apart * groups * kBytes;
  GroupRows rows{x.at(row, 0), groups * QuantisedRows::kGroupWords, x.sums.data() + row * groups, groups};
  const float* scales = x.scales.data() + row * groups;
  const bool fetches = S == 1 && row == 0;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t i = 0; fetches && i < kBytes; i += 64) __builtin_prefetch(tile + groups * kBytes + i, 0, 2);
    for (int s = 0; s < S; ++s) {
      const uint8_t* const here = tile + s * tiles_apart;
      Several<Words, R * kParts> whole;
      Sums::template take<R>(whole, here + kTileScaleBytes, rows);
      // The chains wait in memory: whole numbers need the registers.
      unrolled<R * kParts>([&](auto i) HEED_INLINED {
        constexpr int r = i / kParts, part = i % kParts;
        const Native scale = load_numbers(reinterpret_cast<const StoredF16*>(here) + part * kNative);
        const Native both = hn::Mul(scale, hn::Set(Tag(), scales[r * groups]));
        float* chain = edge[s][r] + part * kNative;
        hn::Store(hn::MulAdd(hn::ConvertTo(Tag(), at<i>(whole)), both, hn::Load(Tag(), chain)), Tag(), chain);
      });
    }
    tile += kBytes;
    rows.x += QuantisedRows::kGroupWords;
    ++rows.sums;
    ++scales;
  }
  each_row(
      [&](const float* chain, int64_t at, int64_t, int64_t columns) { std::copy(chain, chain + columns, g.c + at); });
}

// Tiles [begin, end).
template <class Sums>
HWY_NOINLINE void tiles(const Gemm& g, const QuantisedRows& x, int64_t begin, int64_t end) {
  constexpr int kRuns = 4;
  if (g.M == 1) {
    const int64_t apart = (end - begin) / kRuns;
    for (int64_t i = 0; i < apart; ++i) tile_rows<Sums, 1, kRuns>(g, x, 0, begin + i, apart);
    begin += kRuns * apart;
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t row = 0;
    constexpr int kMostRows = kParts == 1 ? 8 : 4;  // whose sums fit in the registers
    for (; row + kMostRows <= g.M; row += kMostRows) tile_rows<Sums, kMostRows, 1>(g, x, row, tile, 0);
    for (; row + 4 <= g.M; row += 4) tile_rows<Sums, 4, 1>(g, x, row, tile, 0);
    for (; row + 2 <= g.M; row += 2) tile_rows<Sums, 2, 1>(g, x, row, tile, 0);
    for (; row < g.M; ++row) tile_rows<Sums, 1, 1>(g, x, row, tile, 0);
  }
}

using Tiles = void (*)(const Gemm&, const QuantisedRows&, int64_t, int64_t);
Tiles tiles_for(NumberType type) {
#if HWY_TARGET == HWY_AVX3
  if (has_native_int8()) return type == NumberType::kInt8 ? tiles<NativeInt8Sums> : tiles<NativeInt4Sums>;
#endif
  return type == NumberType::kInt8 ? tiles<Int8Sums> : tiles<Int4Sums>;
}

void quantised_product(const Gemm& g) {
  QuantisedRows x(g.M, g.K / kGroup);
  parallel_for(g.M, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, g.K)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) quantise_row(x, row, g.a.at(row * g.a.ld));
  });
  const Tiles run = tiles_for(g.b.type);
  // About a quarter of a megabyte of weights a chunk, and equal shares.
  const int64_t count = tiles_across(g.N), bytes = count * x.groups * tile_bytes(g.b.type), threads = num_threads();
  const int64_t rounds = std::max<int64_t>(1, bytes / threads >> 18);
  parallel_for(count, (count + rounds * threads - 1) / (rounds * threads), [&](int64_t begin, int64_t end) {
    run(g, x, begin, end);
    const int64_t column = begin * kTileOutputs, columns = std::min(end * kTileOutputs, g.N) - column;
    if (g.finish) (*g.finish)({g.c + column, g.ldc, 0, column, g.M, columns});
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(quantised_product);

void gemm_quantised(const Gemm& g) {
  if (g.a.transposed || !g.b.transposed || g.K % kGroup != 0) {
    fail("[gemm] quantised weights are (out, in) with in a multiple of {}, and rows lie as they are", kGroup);
  }
  HWY_DYNAMIC_DISPATCH(quantised_product)(g);
}

}  // namespace heed::kernels
#endif
