// The softmax of a block of queries, tile of keys by tile of keys.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_SOFTMAX_INL_H_
#undef HEED_KERNELS_ATTENTION_SOFTMAX_INL_H_
#else
#define HEED_KERNELS_ATTENTION_SOFTMAX_INL_H_
#endif

#include "heed/kernels/attention_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The running softmax of a block: of each query the largest score so far, and before its last tile, and the sum of
// 2^(score - largest).
struct Running {
  Floats16 largest[kBlockVectors], before[kBlockVectors], sum[kBlockVectors];
};

HWY_INLINE Running nothing_yet() {
  Running run;
  for (int64_t v = 0; v < kBlockVectors; ++v) {
    run.largest[v] = run.before[v] = set(-kLargest);
    run.sum[v] = zero();
  }
  return run;
}

template <int kVectors>
HWY_INLINE void largest_of_rows(const float* scores, int64_t stride, int64_t rows, Floats16* largest) {
  Floats16 m[kVectors];
  for (int v = 0; v < kVectors; ++v) m[v] = largest[v];
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) m[v] = max(m[v], load(scores + r * stride + v * kWidth));
  }
  for (int v = 0; v < kVectors; ++v) largest[v] = m[v];
}

// Scores become weights (dropped ones zero), and sum gets them all.
template <int kVectors, bool kDropout>
HWY_INLINE void weights_of_rows(float* scores, int64_t stride, int64_t rows, const uint16_t* keep,
                                const Floats16* largest, Floats16* sum) {
  Floats16 m[kVectors], total[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    m[v] = largest[v];
    total[v] = sum[v];
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* s = scores + r * stride + v * kWidth;
      const Floats16 w = exp2_nonpositive(load(s) - m[v]);
      total[v] = total[v] + w;
      store(kDropout ? only_kept(w, keep[r * kBlockVectors + v]) : w, s);
    }
  }
  for (int v = 0; v < kVectors; ++v) sum[v] = total[v];
}

HWY_INLINE void largest_of_segment(const Block& b, const Segment& g, const float* tile, Running& run) {
  const int64_t rows = g.end - g.begin;
  for (int64_t v = g.vector; v < b.vectors;) {
    const float* scores = tile + g.begin * b.stride() + v * kWidth;
    v += each_width(b.vectors - v,
                    [&](auto width) HWY_ATTR { largest_of_rows<width()>(scores, b.stride(), rows, run.largest + v); });
  }
}

template <bool kDropout>
HWY_INLINE void weights_of_segment(const Block& b, const Segment& g, float* tile, const Kept& kept, const Running& run,
                                   Floats16* sum) {
  const int64_t rows = g.end - g.begin;
  for (int64_t v = g.vector; v < b.vectors;) {
    float* scores = tile + g.begin * b.stride() + v * kWidth;
    v += each_width(b.vectors - v, [&](auto width) HWY_ATTR {
      weights_of_rows<width(), kDropout>(scores, b.stride(), rows, &kept.keep[g.begin][v], run.largest + v, sum + v);
    });
  }
}

inline void compare_tile(const Head& h, const Block& b, const Tile& t, const float* scores, Running& run) {
  for (int64_t v = 0; v < b.vectors; ++v) run.largest[v] = run.before[v];
  for (Segment g = segment_at(h, b, t, 0); g.begin < t.keys; g = segment_at(h, b, t, g.end)) {
    largest_of_segment(b, g, scores, run);
  }
}

// A tile of scores, and the largest of each query raised to them. Queries at the ends of what floats can hold, or that
// have seen nothing yet, which may be due to an overflow, have the tile scored again with care.
inline void score_and_compare(const Head& h, const Block& b, const Tile& t, const Scored& of, float* scores,
                              Running& run) {
  for (int64_t v = 0; v < b.vectors; ++v) run.before[v] = run.largest[v];
  score_tile(h, b, t, of, scores, Range::kAny);
  compare_tile(h, b, t, scores, run);
  Floats16 furthest = zero();
  for (int64_t v = 0; v < b.vectors; ++v) furthest = max(max(run.largest[v], zero() - run.largest[v]), furthest);
  if (max_of(furthest) < kLargest) return;
  score_tile(h, b, t, of, scores, Range::kFinite);
  compare_tile(h, b, t, scores, run);
}

// Takes a tile that was scored and compared into the running softmax and leaves weights in it. correction: what the sums and
// outputs so far are to be multiplied with, one a query. False when that is 1 for all.
inline bool take_tile(const Head& h, const Block& b, const Tile& t, float* tile, Running& run, float* correction,
                      bool drop) {
  Kept kept;
  if (drop) draw_kept(h, b, t, kept);
  Floats16 sum[kBlockVectors];
  for (int64_t v = 0; v < b.vectors; ++v) sum[v] = zero();
  for (Segment g = segment_at(h, b, t, 0); g.begin < t.keys; g = segment_at(h, b, t, g.end)) {
    drop ? weights_of_segment<true>(b, g, tile, kept, run, sum) : weights_of_segment<false>(b, g, tile, kept, run, sum);
    clear_before(b, g, tile);
  }
  bool corrected = false;
  for (int64_t v = 0; v < b.vectors; ++v) {
    const Floats16 factor = exp2_nonpositive(run.before[v] - run.largest[v]);
    run.sum[v] = fma(run.sum[v], factor, sum[v]);
    store(factor, correction + v * kWidth);
    for (int64_t i = 0; i < kWidth; ++i) corrected |= correction[v * kWidth + i] != 1.0f;
  }
  return corrected;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
