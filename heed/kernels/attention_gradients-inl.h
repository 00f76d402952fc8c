// From tiles of scores and of gradients of weights to weights and gradients of scores.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_ATTENTION_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ATTENTION_GRADIENTS_INL_H_
#undef HEED_KERNELS_ATTENTION_GRADIENTS_INL_H_
#else
#define HEED_KERNELS_ATTENTION_GRADIENTS_INL_H_
#endif

#include "heed/kernels/attention_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Of each query of a block: its largest score, and dout . out. dout and what comes of it is divided by the query's sum of
// 2^(score - largest) beforehand, and 2^(score - largest) stands for its weight.
struct Known {
  Floats16 largest[kBlockVectors], inverse[kBlockVectors], delta[kBlockVectors];
  Range range = Range::kAny;
};

// Queries whose keys are all in one tile take two steps: kWeights, where delta gathers the products of weights with
// their gradients, which is dout . out without a look at out; then kFinish. All others know delta and take one, kAll.
enum class Step { kAll, kWeights, kFinish };

// Scores that become weights, and gradients of weights that become those of scores.
struct TilePair {
  float *weights, *dscores;
};

// `rows` rows of a pair of tiles, from some vector on, and the elements that dropout keeps of them.
struct RowsPair {
  float *weights, *dscores;
  int64_t stride, rows;
  const uint16_t* keep;
};

// Scores become weights (dropped ones zero) and gradients of weights those of scores, as far as the step goes.
template <Step kStep, int kVectors, bool kDropout>
HWY_INLINE void step_of_rows(const RowsPair& x, const Floats16* largests, Floats16* deltas) {
  Floats16 largest[kVectors], delta[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = largests[v];
    delta[v] = deltas[v];
  }
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = r * x.stride + v * kWidth;
      Floats16 w = load(x.weights + at), dw = load(x.dscores + at);
      if (kStep != Step::kFinish) w = exp2_nonpositive(w - largest[v]);
      if (kDropout) dw = only_kept(dw, x.keep[r * kBlockVectors + v]);
      if (kStep == Step::kWeights) {
        delta[v] = fma(w, dw, delta[v]);
        store(w, x.weights + at);
        continue;
      }
      store(w * (dw - delta[v]), x.dscores + at);
      if (kDropout) store(only_kept(w, x.keep[r * kBlockVectors + v]), x.weights + at);
      if (!kDropout && kStep == Step::kAll) store(w, x.weights + at);
    }
  }
  for (int v = 0; kStep == Step::kWeights && v < kVectors; ++v) deltas[v] = delta[v];
}

template <Step kStep, bool kDropout>
HWY_INLINE void step_of_segment(const Block& b, const Segment& g, const TilePair& tiles, const Kept& kept,
                                Known& known) {
  for (int64_t v = g.vector; v < b.vectors;) {
    const int64_t at = g.begin * b.stride() + v * kWidth;
    const RowsPair rows{tiles.weights + at, tiles.dscores + at, b.stride(), g.end - g.begin, &kept.keep[g.begin][v]};
    Floats16 *largest = known.largest + v, *delta = known.delta + v;
    v += each_width(b.vectors - v,
                    [&](auto width) HWY_ATTR { step_of_rows<kStep, width(), kDropout>(rows, largest, delta); });
  }
}

template <Step kStep>
inline void step_of_tile(const Head& h, const Block& b, const Tile& t, const TilePair& tiles, const Kept& kept,
                         Known& known) {
  for (Segment g = segment_at(h, b, t, 0); g.begin < t.keys; g = segment_at(h, b, t, g.end)) {
    h.a->dropout.p > 0 ? step_of_segment<kStep, true>(b, g, tiles, kept, known)
                       : step_of_segment<kStep, false>(b, g, tiles, kept, known);
    if (kStep == Step::kWeights) continue;
    clear_before(b, g, tiles.weights);
    clear_before(b, g, tiles.dscores);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
