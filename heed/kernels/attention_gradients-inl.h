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
  F16 largest[kBlockVectors], inverse[kBlockVectors], delta[kBlockVectors];
  Range range = Range::kAny;
};

// Scores become weights (dropped ones zero) and gradients of weights become gradients of scores.
template <int kVectors, bool kDropout>
HWY_INLINE void gradients_of_rows(float* scores, float* dweights, int64_t stride, int64_t rows, const uint16_t* keep,
                                  const F16* largests, const F16* deltas) {
  F16 largest[kVectors], delta[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = largests[v];
    delta[v] = deltas[v];
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = r * stride + v * kWidth;
      const F16 w = exp2_nonpositive(load(scores + at) - largest[v]);
      F16 dw = load(dweights + at);
      if (kDropout) dw = only_kept(dw, keep[r * kBlockVectors + v]);
      store(w * (dw - delta[v]), dweights + at);
      store(kDropout ? only_kept(w, keep[r * kBlockVectors + v]) : w, scores + at);
    }
  }
}

// The same in two steps for queries whose keys are all in one tile. First: weights, and delta gathers their products with
// their gradients, which is dout . out without a look at out.
template <int kVectors, bool kDropout>
HWY_INLINE void weights_of_rows(float* scores, const float* dweights, int64_t stride, int64_t rows, const uint16_t* keep,
                                const F16* largests, F16* deltas) {
  F16 largest[kVectors], delta[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = largests[v];
    delta[v] = deltas[v];
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = r * stride + v * kWidth;
      const F16 w = exp2_nonpositive(load(scores + at) - largest[v]);
      F16 dw = load(dweights + at);
      if (kDropout) dw = only_kept(dw, keep[r * kBlockVectors + v]);
      delta[v] = fma(w, dw, delta[v]);
      store(w, scores + at);
    }
  }
  for (int v = 0; v < kVectors; ++v) deltas[v] = delta[v];
}

// Second: gradients of scores.
template <int kVectors, bool kDropout>
HWY_INLINE void finish_rows(float* weights, float* dweights, int64_t stride, int64_t rows, const uint16_t* keep,
                            const F16* deltas) {
  F16 delta[kVectors];
  for (int v = 0; v < kVectors; ++v) delta[v] = deltas[v];
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = r * stride + v * kWidth;
      const F16 w = load(weights + at);
      F16 dw = load(dweights + at);
      if (kDropout) dw = only_kept(dw, keep[r * kBlockVectors + v]);
      store(w * (dw - delta[v]), dweights + at);
      if (kDropout) store(only_kept(w, keep[r * kBlockVectors + v]), weights + at);
    }
  }
}

enum class Step { kAll, kWeights, kFinish };

// Scores that become weights, and gradients of weights that become those of scores.
struct TilePair {
  float *weights, *dscores;
};

template <Step kStep, bool kDropout>
HWY_INLINE void step_of_segment(const Block& b, const Segment& g, const TilePair& tiles, const Kept& kept, Known& known) {
  for (int64_t v = g.vector; v < b.vectors;) {
    const int64_t at = g.begin * b.stride() + v * kWidth, rows = g.end - g.begin;
    float *w = tiles.weights + at, *dw = tiles.dscores + at;
    const uint16_t* keep = &kept.keep[g.begin][v];
    F16 *largest = known.largest + v, *delta = known.delta + v;
    v += each_width(b.vectors - v, [&](auto width) HWY_ATTR {
      if (kStep == Step::kAll) gradients_of_rows<width(), kDropout>(w, dw, b.stride(), rows, keep, largest, delta);
      if (kStep == Step::kWeights) weights_of_rows<width(), kDropout>(w, dw, b.stride(), rows, keep, largest, delta);
      if (kStep == Step::kFinish) finish_rows<width(), kDropout>(w, dw, b.stride(), rows, keep, delta);
    });
  }
}

template <Step kStep>
inline void step_of_tile(const Head& h, const Block& b, const Tile& t, const TilePair& tiles, const Kept& kept, Known& known) {
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
