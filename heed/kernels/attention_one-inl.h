// One query alone, as when text is generated: lanes are keys, and rows are read where they lie. Every chain is that of a block
// of queries, so that a row has the same bits either way.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_ONE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_ONE_INL_H_
#undef HEED_KERNELS_ATTENTION_ONE_INL_H_
#else
#define HEED_KERNELS_ATTENTION_ONE_INL_H_
#endif

#include <cmath>

#include "heed/kernels/attention_scores-inl.h"
#include "heed/kernels/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
inline bool attend_one(const Head&, const AttentionForward&, int64_t, float*, float*) { return false; }  // no lanes
#else

// Rows of keys or of values of one tile. Lanes behind the last row repeat it.
struct TileRows {
  const float* row[kKeyTile];
  void fetch(int64_t begin, int64_t end, int64_t columns) const {
    constexpr int64_t kLine = 16;
    for (int64_t r = begin; r < std::min(end, kKeyTile); ++r) {
      for (int64_t c = 0; c < columns; c += kLine) __builtin_prefetch(row[r] + c);
    }
  }
};

inline void point_to(TileRows& rows, const Heads& x, int64_t column, const Head& h, const Tile& t) {
  for (int64_t r = 0; r < kKeyTile; ++r) {
    const int64_t key = h.k_row + t.first + std::min(r, t.keys - 1);
    rows.row[r] = place(x, h.a->k_rows ? h.a->k_rows[key] : key, column);
  }
}

// Two registers of keys at a time: an fma of a chain waits for the one before.
constexpr int64_t kKeysAtOnce = 2 * kNative;

HWY_INLINE void score_keys(const float* q, int64_t D, const float* const* keys, float* scores) {
  Native sum0 = hn::Zero(Tag()), sum1 = hn::Zero(Tag());
  int64_t d = 0;
  for (; d + 4 <= D; d += 4) {
    Native low[4], high[4];
    for (int i = 0; i < 4; ++i) {
      low[i] = load_quads(Tag(), keys, i, d);
      high[i] = load_quads(Tag(), keys + kNative, i, d);
    }
    turn_quads(low);
    turn_quads(high);
    for (int i = 0; i < 4; ++i) {
      const Native of_query = hn::Set(Tag(), q[d + i]);
      sum0 = hn::MulAdd(low[i], of_query, sum0);
      sum1 = hn::MulAdd(high[i], of_query, sum1);
    }
  }
  hn::StoreU(sum0, Tag(), scores);
  hn::StoreU(sum1, Tag(), scores + kNative);
  for (; d < D; ++d) {
    for (int64_t j = 0; j < kKeysAtOnce; ++j) scores[j] = std::fma(keys[j][d], q[d], scores[j]);
  }
}

// The largest score of the tile; scores behind the last key repeat it.
inline float score_one(const Head& h, int64_t query, const Tile& t, const TileRows& keys, const TileRows& values,
                       const float* q, float* scores) {
  const Attention& a = *h.a;
  keys.fetch(0, kKeysAtOnce, a.D);
  for (int64_t r = 0; r < t.keys; r += kKeysAtOnce) {
    keys.fetch(r + kKeysAtOnce, std::min(r + 2 * kKeysAtOnce, t.keys), a.D);
    values.fetch(r, std::min(r + kKeysAtOnce, t.keys), a.Dv);
    score_keys(q, a.D, keys.row + r, scores + r);
  }
  for (int64_t r = 0; h.line && r < t.keys; ++r) scores[r] += h.line[query - (t.first + r) + h.nk - 1];
  const int64_t padded = round_up(t.keys, kWidth);
  std::fill(scores + t.keys, scores + padded, scores[t.keys - 1]);
  Floats16 largest = load(scores);
  for (int64_t r = kWidth; r < padded; r += kWidth) largest = max(largest, load(scores + r));
  return max_of(largest);
}

// out (+)= weights times values, sixteen columns a vector.
template <int kVectors, class Lanes>
HWY_INLINE void sum_values(const float* weights, const TileRows& values, int64_t keys, int64_t column, float* out,
                           Lanes lanes) {
  Floats16 sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = load(out + column + v * kWidth);
  for (int64_t r = 0; r < keys; ++r) {
    const Floats16 w = set(weights[r]);
    for (int v = 0; v < kVectors; ++v) sum[v] = fma(w, load(values.row[r] + column + v * kWidth, lanes), sum[v]);
  }
  for (int v = 0; v < kVectors; ++v) store(sum[v], out + column + v * kWidth);
}

inline void take_values(const float* weights, const TileRows& values, int64_t keys, int64_t Dv, float* out) {
  int64_t column = 0;
  for (; column + 4 * kWidth <= Dv; column += 4 * kWidth) sum_values<4>(weights, values, keys, column, out, Whole());
  for (; column + kWidth <= Dv; column += kWidth) sum_values<1>(weights, values, keys, column, out, Whole());
  if (column < Dv) sum_values<1>(weights, values, keys, column, out, First{Dv - column});
}

// The output of one query. False, and nothing written, where a block has to do it: at the ends of what floats can hold, and
// with masks, dropout or a backward to come. q: room for D floats, out: for round_up(Dv, 16).
inline bool attend_one(const Head& h, const AttentionForward& f, int64_t query, float* q, float* out) {
  const Attention& a = *h.a;
  const int64_t seen = keys_of(h, {query, 1, 1});
  if (seen == 0 || f.softmax || a.dropout.p > 0 || a.mask.keep || a.mask.add) return false;
  const float* of_query = place(f.q, h.q_row + query, h.head * a.D);
  const float scale = a.scale * h.unit;
  for (int64_t d = 0; d < a.D; ++d) q[d] = scale * of_query[d];
  std::fill_n(out, round_up(a.Dv, kWidth), 0.0f);
  float largest = -kLargest, total = 0;
  alignas(64) float scores[kKeyTile];
  TileRows keys, values;
  for (int64_t first = 0; first < seen; first += kKeyTile) {
    const Tile t{first, std::min(kKeyTile, seen - first)};
    point_to(keys, f.k, h.kv_head * a.D, h, t);
    point_to(values, f.v, h.kv_head * a.Dv, h, t);
    const float before = largest;
    largest = std::max(before, score_one(h, query, t, keys, values, q, scores));
    if (!(std::abs(largest) < kLargest)) return false;
    for (int64_t r = 0; r < t.keys; r += kWidth) {
      store(exp2_nonpositive(load(scores + r) - set(largest)), scores + r);
    }
    float sum = 0;
    for (int64_t r = 0; r < t.keys; ++r) sum += scores[r];
    if (std::isnan(sum)) return false;
    const Floats16 correction = exp2_nonpositive(set(before) - set(largest));
    total = max_of(fma(set(total), correction, set(sum)));
    for (int64_t c = 0; first > 0 && c < a.Dv; c += kWidth) store(load(out + c) * correction, out + c);
    take_values(scores, values, t.keys, a.Dv, out);
  }
  const Floats16 factor = set(1.0f) / set(total);
  float* to = f.out + (h.q_row + query) * f.out_ld + h.head * a.Dv;
  by_sixteen(a.Dv, [=](int64_t c, auto lanes) HWY_ATTR { store(load(out + c) * factor, to + c, lanes); });
  return true;
}
#endif

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
