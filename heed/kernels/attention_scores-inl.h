// Tiles of scores, transposed: a row is a key, sixteen queries lie side by side in a vector. The softmax then
// runs down the rows, every lane a query of its own: it needs no sums across lanes, its order of addition is the
// order of keys, and a query never meets its neighbours. Scores are in units of log 2, so that weights are 2^s.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_SCORES_INL_H_
#undef HEED_KERNELS_ATTENTION_SCORES_INL_H_
#else
#define HEED_KERNELS_ATTENTION_SCORES_INL_H_
#endif

#include <cmath>
#include <type_traits>

#include "heed/kernels/attention.h"
#include "heed/kernels/attention_tile-inl.h"
#include "heed/kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int64_t kQueryBlock = 64;  // queries of a block: four vectors
constexpr int64_t kKeyTile = 128;    // keys of a tile; tiles start at key 0, so a row's bits know nothing else
constexpr int64_t kInPlace = 4 * kQueryBlock;  // rows read along the depth are copied when more queries read them
constexpr int64_t kPanel = 16 * kKeyTile;      // so many keys are copied at a time: what a thread needs is bounded
constexpr int64_t kAnnounced = 512;  // so many keys of the next sequence are fetched ahead: they fit in the cache
constexpr int64_t kBlockVectors = kQueryBlock / kWidth;
constexpr float kLog2e = 1.44269504f;
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Where a row's columns start; nothing where there is no matrix.
template <class Matrix>
HWY_INLINE auto place(const Matrix& x, int64_t row, int64_t column) {
  return x.data ? x.data + row * x.ld + column : x.data;
}

// One sequence and head.
struct Head {
  const Attention* a;
  int64_t sequence, head, kv_head;
  int64_t q_row, k_row;  // where the sequence starts
  int64_t nq, nk, seen;  // keys [0, seen) may be looked at
  int64_t shift;         // causal: query i sees keys up to i + shift
  float unit;            // of the scores: log2(e), or 1 to have them as they are
  const float* line;     // bias of each distance: query i and key j find theirs at i - j + nk - 1; or null
  Ahead* ahead;          // what to fetch along the way; or null
};

// Queries [first, first + rows) of a head; vectors that hold them.
struct Block {
  int64_t first, rows, vectors;
  int64_t stride() const { return vectors * kWidth; }
};

// Keys [first, first + keys).
struct Tile {
  int64_t first, keys;
};

inline Head head_of(const Attention& a, int64_t sequence, int64_t head) {
  Head h{
      &a,     sequence, head,   head / (a.heads / a.kv_heads), a.q_offsets[sequence], a.k_offsets[sequence], 0, 0, 0, 0,
      kLog2e, nullptr,  nullptr};
  h.nq = a.q_offsets[sequence + 1] - h.q_row;
  h.nk = a.k_offsets[sequence + 1] - h.k_row;
  h.seen = a.key_lengths ? std::clamp<int64_t>(a.key_lengths[sequence], 0, h.nk) : h.nk;
  h.shift = h.nk - h.nq;
  return h;
}

HWY_INLINE Block block_of(int64_t first, int64_t last) {
  const int64_t rows = std::min(kQueryBlock, last - first);
  return {first, rows, (rows + kWidth - 1) / kWidth};
}

// How many keys, from key 0 on, any query of the block sees.
HWY_INLINE int64_t keys_of(const Head& h, const Block& b) {
  if (!h.a->causal) return h.seen;
  return std::clamp<int64_t>(b.first + b.rows + h.shift, 0, h.seen);
}

inline bool has_line(const Attention& a) { return a.slopes || a.relative; }
inline int64_t line_floats(int64_t nq, int64_t nk) { return nq + nk + kQueryBlock; }

// The entry of the relative table for the distance key - query.
HWY_INLINE int64_t relative_entry(const Attention& a, int64_t distance) {
  return std::clamp<int64_t>(distance - a.relative_first, 0, a.relative_count - 1);
}

// What a bias or an additive mask is in units of the scores: finite where it is finite itself.
HWY_INLINE float in_units(float x, float unit) {
  return std::isfinite(x) ? std::clamp(x * unit, -kLargest, kLargest) : x;
}
HWY_INLINE Floats16 in_units(Floats16 x, Floats16 unit) {
  const Floats16 y = max(set(-kLargest), min(set(kLargest), x * unit));
  return min(y, x + set(kLargest));  // -inf stays
}

inline void fill_line(const Head& h, float* line) {
  const Attention& a = *h.a;
  const float slope = a.slopes ? a.slopes[h.head] : 0.0f;
  for (int64_t i = 0; i < h.nq + h.nk - 1; ++i) {
    const int64_t distance = h.nk - 1 - i - h.shift;
    float bias = -slope * static_cast<float>(std::abs(distance));
    if (a.relative) bias += a.relative[relative_entry(a, distance) * a.heads + h.head];
    line[i] = in_units(bias, h.unit);
  }
  std::fill(line + std::max<int64_t>(0, h.nq + h.nk - 1), line + line_floats(h.nq, h.nk), 0.0f);
}

// Queries of the block that come before all that see this key.
HWY_INLINE int64_t dead_queries(const Head& h, const Block& b, int64_t key) {
  return h.a->causal ? std::clamp<int64_t>(key - h.shift - b.first, 0, b.rows) : 0;
}

// Rows [begin, end) of a tile whose first vector with a live query is `vector`.
struct Segment {
  int64_t begin, end, vector;
};

HWY_INLINE Segment segment_at(const Head& h, const Block& b, const Tile& t, int64_t begin) {
  if (begin >= t.keys) return {t.keys, t.keys, 0};
  if (!h.a->causal) return {begin, t.keys, 0};
  const int64_t vector = dead_queries(h, b, t.first + begin) / kWidth;
  const int64_t next = h.shift + b.first + (vector + 1) * kWidth - t.first;
  return {begin, std::clamp(next, begin + 1, t.keys), vector};
}

// Calls body with how many vectors to take at a time as a compile-time number, and returns it: one row's
// vectors are worked on together as far as registers reach.
template <class Body>
HWY_INLINE int64_t each_width(int64_t vectors, Body&& body) {
  if constexpr (kParts == 1) {
    if (vectors >= 4) return body(std::integral_constant<int, 4>()), 4;
    if (vectors == 3) return body(std::integral_constant<int, 3>()), 3;
    if (vectors == 2) return body(std::integral_constant<int, 2>()), 2;
  }
  return body(std::integral_constant<int, 1>()), 1;
}

// f(row of the tile, dead lanes of the segment's first vector) for the rows of a segment that the diagonal cuts.
template <class F>
HWY_INLINE void along_diagonal(const Head& h, const Block& b, const Tile& t, const Segment& g, F f) {
  const int64_t corner = h.shift + b.first + g.vector * kWidth - t.first;
  for (int64_t r = std::max(g.begin, corner + 1); r < g.end; ++r) f(r * b.stride() + g.vector * kWidth, r - corner);
}

// Lanes of queries before the diagonal become -inf. min, not +: what a dead lane holds never matters, even NaN.
inline void mask_diagonal(const Head& h, const Block& b, const Tile& t, const Segment& g, float* scores) {
  static constexpr float kI = kInfinity;
  alignas(64) static constexpr float kWall[32] = {-kI, -kI, -kI, -kI, -kI, -kI, -kI, -kI, -kI, -kI, -kI,
                                                  -kI, -kI, -kI, -kI, -kI, kI,  kI,  kI,  kI,  kI,  kI,
                                                  kI,  kI,  kI,  kI,  kI,  kI,  kI,  kI,  kI,  kI};
  along_diagonal(h, b, t, g, [&](int64_t at, int64_t dead) HWY_ATTR {
    store(min(load(scores + at), load(kWall + kWidth - dead)), scores + at);
  });
}

// They become zero: gradients of weights that are none.
inline void clear_diagonal(const Head& h, const Block& b, const Tile& t, const Segment& g, float* tile) {
  along_diagonal(h, b, t, g, [&](int64_t at, int64_t dead) HWY_ATTR { store_n(zero(), tile + at, dead); });
}

// A score with what a bias or mask adds. At most the largest float before it, so that +inf and -inf never meet; NaN stays.
HWY_INLINE Floats16 biased(Floats16 score, Floats16 bias) {
  const auto most = hn::Set(Tag(), kLargest);
  return each(score, [=](Native s) HWY_ATTR { return hn::IfThenElse(hn::Gt(s, most), most, s); }) + bias;
}

inline void add_line(const Head& h, const Block& b, const Tile& t, const Segment& g, float* scores) {
  for (int64_t r = g.begin; r < g.end; ++r) {
    const float* line = h.line + b.first - (t.first + r) + h.nk - 1;
    for (int64_t v = g.vector * kWidth; v < b.stride(); v += kWidth) {
      float* s = scores + r * b.stride() + v;
      store(biased(load(s), load(line + v)), s);
    }
  }
}

// Arbitrary masks lie with keys side by side: sixteen by sixteen of them are turned at a time.
inline void apply_masks(const Head& h, const Block& b, const Tile& t, float* scores) {
  const Attention::Mask& m = h.a->mask;
  const int64_t at = h.sequence * m.stride_sequence + h.head * m.stride_head + b.first * m.stride_row + t.first;
  alignas(64) float straight[kWidth * kWidth], turned[kWidth * kWidth];
  for (int64_t q = 0; q < b.rows; q += kWidth) {
    const int64_t queries = std::min<int64_t>(kWidth, b.rows - q);
    for (int64_t k = 0; k < t.keys; k += kWidth) {
      const int64_t keys = std::min<int64_t>(kWidth, t.keys - k);
      const int64_t corner = at + q * m.stride_row + k;
      if (m.add) {
        transpose({m.add + corner, m.stride_row, queries, keys}, turned, kWidth, 1.0f);
        for (int64_t j = 0; j < keys; ++j) {
          float* s = scores + (k + j) * b.stride() + q;
          store(biased(load(s), in_units(load(turned + j * kWidth), set(h.unit))), s);
        }
      }
      if (m.keep) {
        for (int64_t i = 0; i < queries; ++i) {
          const uint8_t* keep = m.keep + corner + i * m.stride_row;
          for (int64_t j = 0; j < keys; ++j) straight[i * kWidth + j] = keep[j] ? kInfinity : -kInfinity;
        }
        transpose({straight, kWidth, queries, keys}, turned, kWidth, 1.0f);
        for (int64_t j = 0; j < keys; ++j) {
          float* s = scores + (k + j) * b.stride() + q;
          store(min(load(s), load(turned + j * kWidth)), s);
        }
      }
    }
  }
}

// The sum of a score and a bias within the range; -inf stays.
HWY_INLINE float finite_sum(float score, float bias) {
  if (score == -kInfinity || bias == -kInfinity) return -kInfinity;
  return std::clamp(score + bias, -kLargest, kLargest);
}

// Biases and masks one by one: the bits of the fast way where nothing overflows.
inline void finish_finite(const Head& h, const Block& b, const Tile& t, const Segment& g, float* scores) {
  const Attention::Mask& m = h.a->mask;
  for (int64_t r = g.begin; r < g.end; ++r) {
    const int64_t key = t.first + r, dead = dead_queries(h, b, key);
    for (int64_t q = g.vector * kWidth; q < b.stride(); ++q) {
      const int64_t query = b.first + std::min(q, b.rows - 1);
      const int64_t at = h.sequence * m.stride_sequence + h.head * m.stride_head + query * m.stride_row + key;
      float& s = scores[r * b.stride() + q];
      s = std::clamp(s, -kLargest, kLargest);
      if (h.line) s = finite_sum(s, h.line[b.first + q - key + h.nk - 1]);
      if (m.add) s = finite_sum(s, in_units(m.add[at], h.unit));
      if (q < dead || (m.keep && !m.keep[at])) s = -kInfinity;
    }
  }
}

// What scores are made of: the rows of the sequence's keys, and (D, b.stride()) the block's queries times scale and unit.
struct Scored {
  Rows keys;
  const float* q_turned;
};

// kFinite: only -inf masks, whatever else leaves the range of floats is held at its end.
enum class Range { kAny, kFinite };

// scores (t.keys, b.stride()): K Q^T with every bias and mask. Vectors that no query of the segment sees are left out.
inline void score_tile(const Head& h, const Block& b, const Tile& t, const Scored& of, float* scores, Range range) {
  const Rows& k = of.keys;
  for (Segment g = segment_at(h, b, t, 0); g.begin < t.keys; g = segment_at(h, b, t, g.end)) {
    const int64_t v = g.vector * kWidth;
    product({.rows = g.end - g.begin,
             .vectors = b.vectors - g.vector,
             .depth = h.a->D,
             .a = k.row(t.first + g.begin),
             .a_row = k.ld,
             .a_depth = 1,
             .b = of.q_turned + v,
             .b_row = b.stride(),
             .c = scores + g.begin * b.stride() + v,
             .c_row = b.stride(),
             .ahead = h.ahead});
    if (range == Range::kFinite) {
      finish_finite(h, b, t, g, scores);
      continue;
    }
    if (h.line) add_line(h, b, t, g, scores);
    if (h.a->causal) mask_diagonal(h, b, t, g, scores);
  }
  if (range == Range::kAny && (h.a->mask.keep || h.a->mask.add)) apply_masks(h, b, t, scores);
}

// Products read up to kMaxGroup rows together, so one vector before a segment's first must be zeros.
inline void clear_before(const Block& b, const Segment& g, float* tile) {
  if (g.vector == 0) return;
  for (int64_t r = g.begin; r < g.end; ++r) store(zero(), tile + r * b.stride() + (g.vector - 1) * kWidth);
}

// The elements of a tile that stay: bit i of keep[key][vector] is query i of that vector.
struct Kept {
  uint16_t keep[kKeyTile][kBlockVectors];
};

// Element (query, key) is half key % 8 of philox({query, key / 8, sequence, head + 1}), low halves first.
inline void draw_kept(const Head& h, const Block& b, const Tile& t, Kept& kept) {
  const Attention& a = *h.a;
  const uint32_t id = a.sequence_ids ? a.sequence_ids[h.sequence] : static_cast<uint32_t>(h.sequence);
  const TagU32 d;
  const hn::RebindToSigned<Tag> di;
  const auto below = hn::Set(di, static_cast<int32_t>(std::lround(static_cast<double>(a.dropout.p) * 65536)) - 1);
  for (int64_t r = 0; r < t.keys; r += 8) {
    const int64_t keys = std::min<int64_t>(8, t.keys - r);
    for (int64_t v = dead_queries(h, b, t.first + r) / kWidth; v < b.vectors; ++v) {
      const Philox16 drawn =
          philox16(static_cast<uint32_t>(b.first + v * kWidth), static_cast<uint32_t>((t.first + r) / 8), id,
                   static_cast<uint32_t>(h.head + 1), a.dropout.key);
      for (int64_t j = 0; j < keys; ++j) {
        uint32_t bits = 0;
        for (int i = 0; i < kParts; ++i) {
          const auto word = drawn.word[j / 2].part[i];
          const auto half = j % 2 ? hn::ShiftRight<16>(word) : hn::And(word, hn::Set(d, 0xFFFFu));
          uint8_t bytes[8] = {};
          hn::StoreMaskBits(di, hn::Gt(hn::BitCast(di, half), below), bytes);
          bits |= (bytes[0] | static_cast<uint32_t>(bytes[1]) << 8) << (i * kNative);
        }
        kept.keep[r + j][v] = static_cast<uint16_t>(bits);
      }
    }
  }
}

HWY_INLINE Floats16 only_kept(Floats16 x, uint32_t bits) {
  for (int i = 0; i < kParts; ++i) {
    const uint32_t part = bits >> (i * kNative);
    const uint8_t bytes[8] = {static_cast<uint8_t>(part), static_cast<uint8_t>(part >> 8)};
    x.part[i] = hn::IfThenElseZero(hn::LoadMaskBits(Tag(), bytes), x.part[i]);
  }
  return x;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
