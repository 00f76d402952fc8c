#include "heed/kernels/dropout.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "heed/base/threads.h"
#include "heed/kernels/row_grain.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/dropout.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/philox-inl.h"
#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Columns that one Philox call of sixteen counters decides: eight 16-bit values a lane.
constexpr int64_t kGroup = 128;

// Bit `lane` is set where the lane is at least the threshold.
HWY_INLINE uint64_t at_least(const Words16& value, uint32_t threshold) {
  // Sixteen bits compare as signed numbers, which every CPU can.
  const hn::RebindToSigned<TagU32> d;
  const auto below = hn::Set(d, static_cast<int32_t>(threshold) - 1);
  uint64_t bits = 0;
  for (int i = 0; i < kParts; ++i) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Gt(hn::BitCast(d, value.part[i]), below), bytes);
    uint64_t part;
    std::memcpy(&part, bytes, sizeof(part));
    bits |= part << (i * kNative);
  }
  return bits;
}

inline float scale_of(float p) { return p < 1 ? 1.0f / (1.0f - p) : 0.0f; }

// What every row of one mask needs.
struct Drawing {
  PhiloxKeys keys;
  uint32_t threshold;
};
inline Drawing drawing_of(const Dropout& dropout) {
  return {philox_keys(dropout.key), static_cast<uint32_t>(std::lround(double{dropout.p} * 65536))};
}

// The two mask words of columns [128 g, 128 g + 128) of the row (sequence, position).
HWY_INLINE void group_bits(uint64_t* two_words, int64_t group, uint32_t position, uint32_t sequence,
                           const Drawing& drawing) {
  const TagU32 d;
  const Philox16 random = philox16(static_cast<uint32_t>(group * 16), position, sequence, 0, drawing.keys);
  uint64_t bits[4];
  for (int w = 0; w < 4; ++w) {
    Words16 low, high;
    for (int i = 0; i < kParts; ++i) {
      low.part[i] = hn::And(random.word[w].part[i], hn::Set(d, 0xFFFFu));
      high.part[i] = hn::ShiftRight<16>(random.word[w].part[i]);
    }
    bits[w] = at_least(low, drawing.threshold) | at_least(high, drawing.threshold) << 16;
  }
  two_words[0] = bits[0] | bits[1] << 32;
  two_words[1] = bits[2] | bits[3] << 32;
}

// The bits of one row; those past its end are 0. then(c, n) follows for its columns [c, c + n), n <= 128, as soon as
// their bits are there.
template <class Then>
HWY_INLINE void row_bits(uint64_t* keep, uint32_t position, uint32_t sequence, int64_t C, const Drawing& drawing,
                         Then then) {
  const int64_t words = mask_words(C);
  for (int64_t c = 0; c < C; c += kGroup) {
    const int64_t group = c / kGroup, n = std::min(kGroup, C - c);
    uint64_t two[2];
    group_bits(two, group, position, sequence, drawing);
    if (n % 64) two[n / 64] &= (uint64_t{1} << (n % 64)) - 1;
    keep[2 * group] = two[0];
    if (2 * group + 1 < words) keep[2 * group + 1] = two[1];
    then(c, n);
  }
}

// x where the low bits of `bits` are set, else 0
HWY_INLINE Floats16 where(uint64_t bits, Floats16 x) {
  for (int i = 0; i < kParts; ++i) {
    uint8_t bytes[8];
    const uint64_t part = bits >> (i * kNative);
    std::memcpy(bytes, &part, sizeof(part));
    x.part[i] = hn::IfThenElseZero(hn::LoadMaskBits(Tag(), bytes), x.part[i]);
  }
  return x;
}

void dropout_mask_rows(uint64_t* keep, const RowIds& ids, int64_t T, int64_t C, const Dropout& dropout) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [&](int64_t begin, int64_t end) HWY_ATTR {
    const Drawing drawing = drawing_of(dropout);
    for (int64_t t = begin; t < end; ++t) {
      row_bits(keep + t * mask_words(C), ids.position[t], ids.sequence[t], C, drawing, [](int64_t, int64_t) {});
    }
  });
}

void apply_mask_rows(float* y, const float* x, const uint64_t* keep, int64_t T, int64_t C, float p, bool accumulate) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [=](int64_t begin, int64_t end) HWY_ATTR {
    const Floats16 by = set(scale_of(p));
    for (int64_t t = begin; t < end; ++t) {
      const uint64_t* bits = keep + t * mask_words(C);
      by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR {
        const Floats16 v = where(bits[i / 64] >> (i % 64), load(x + t * C + i, lanes) * by);
        store(accumulate ? load(y + t * C + i, lanes) + v : v, y + t * C + i, lanes);
      });
    }
  });
}

void apply_mask_to_tile(const MaskedTile& tile) {
  const Floats16 by = set(scale_of(tile.p));
  for (int64_t r = 0; r < tile.rows; ++r) {
    const uint64_t* bits = tile.keep + (tile.row + r) * mask_words(tile.C);
    float* x = tile.x + r * tile.ld;
    by_sixteen(tile.columns, [=](int64_t i, auto lanes) HWY_ATTR {
      const int64_t c = tile.column + i;
      store(where(bits[c / 64] >> (c % 64), load(x + i, lanes) * by), x + i, lanes);
    });
  }
}

void residual_dropout_rows(float* y, uint64_t* keep, const float* x, const float* f, const RowIds& ids, int64_t T,
                           int64_t C, const Dropout& dropout) {
  if (C <= 0) return;
  parallel_for(T, row_grain(C), [&](int64_t begin, int64_t end) HWY_ATTR {
    const Drawing drawing = drawing_of(dropout);
    const Floats16 by = set(scale_of(dropout.p));
    for (int64_t t = begin; t < end; ++t) {
      uint64_t* bits = keep + t * mask_words(C);
      const float *from = x + t * C, *added = f + t * C;
      float* to = y + t * C;
      row_bits(bits, ids.position[t], ids.sequence[t], C, drawing, [=](int64_t c, int64_t n) HWY_ATTR {
        by_sixteen(n, [=](int64_t k, auto lanes) HWY_ATTR {
          const int64_t i = c + k;
          // The next group's lines arrive while its bits are drawn.
          hwy::Prefetch(from + i + kGroup);
          hwy::Prefetch(added + i + kGroup);
          const Floats16 v = where(bits[i / 64] >> (i % 64), load(added + i, lanes) * by);
          store(load(from + i, lanes) + v, to + i, lanes);
        });
      });
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(dropout_mask_rows);
HWY_EXPORT(apply_mask_rows);
HWY_EXPORT(apply_mask_to_tile);
HWY_EXPORT(residual_dropout_rows);

uint64_t dropout_key(uint64_t seed, uint64_t step, uint64_t layer) {
  // splitmix64 after each part, so that neighbours in any part share nothing.
  uint64_t key = 0;
  for (const uint64_t part : {seed, step, layer}) {
    key += part + 0x9E3779B97F4A7C15;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EB;
    key ^= key >> 31;
  }
  return key;
}

void dropout_mask(uint64_t* keep, const RowIds& ids, int64_t T, int64_t C, const Dropout& dropout) {
  HWY_DYNAMIC_DISPATCH(dropout_mask_rows)(keep, ids, T, C, dropout);
}

void apply_mask(float* y, const float* x, const uint64_t* keep, int64_t T, int64_t C, float p, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(apply_mask_rows)(y, x, keep, T, C, p, accumulate);
}

void apply_mask_tile(const MaskedTile& tile) { HWY_DYNAMIC_DISPATCH(apply_mask_to_tile)(tile); }

void residual_dropout(float* y, uint64_t* keep, const float* x, const float* f, const RowIds& ids, int64_t T, int64_t C,
                      const Dropout& dropout) {
  HWY_DYNAMIC_DISPATCH(residual_dropout_rows)(y, keep, x, f, ids, T, C, dropout);
}

}  // namespace heed::kernels
#endif
