#include "heed/kernels/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/base/buffer.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/loss.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

struct TopAndSum {
  float top;
  double sum;  // of all logits
};

// The sum in chunks of floats, added in double: smoothing needs it over tens of thousands of words.
HWY_INLINE TopAndSum top_and_sum(const float* z, int64_t V) {
  constexpr int64_t kChunk = 1024;
  F16 top = set(-std::numeric_limits<float>::infinity());
  double total = 0;
  for (int64_t v = 0; v < V; v += kChunk) {
    total += sum(sum_of(std::min(kChunk, V - v), [&](int64_t i, auto lanes) HWY_ATTR {
      const F16 x = load(z + v + i, lanes);
      top = max(top, load(z + v + i, lanes, -std::numeric_limits<float>::infinity()));
      return x;
    }));
  }
  return {max_of(top), total};
}

// One row of logits z becomes, where gradients are wanted, the gradient of grad_scale times its loss.
HWY_INLINE void loss_row(const VocabularyLoss& l, int64_t t, float* z, bool gradients) {
  const int64_t V = l.V;
  const int32_t target = l.targets[t];
  if (target < 0) {
    if (gradients) std::fill(z, z + V, 0.0f);
    if (l.row_loss) l.row_loss[t] = 0;
    if (l.row_nll) l.row_nll[t] = 0;
    return;
  }
  const TopAndSum found = top_and_sum(z, V);
  const double at_target = double{z[target]} - found.top;
  const F16 shift = set(found.top);
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  const F16 total = gradients ? sum_of(V,
                                       [=](int64_t i, auto lanes) HWY_ATTR {
                                         const F16 e = exp(load(z + i, lanes, minus_infinity) - shift);
                                         store(e, z + i, lanes);
                                         return e;
                                       })
                              : sum_of(V, [=](int64_t i, auto lanes)
                                              HWY_ATTR { return exp(load(z + i, lanes, minus_infinity) - shift); });
  const double sum_exp = sum(total), log_sum = std::log(sum_exp), eps = l.smoothing;
  const double nll = log_sum - at_target;
  const double mean_log_p = found.sum / static_cast<double>(V) - found.top - log_sum;
  if (l.row_loss) l.row_loss[t] = static_cast<float>(eps > 0 ? (1.0 - eps) * nll - eps * mean_log_p : nll);
  if (l.row_nll) l.row_nll[t] = static_cast<float>(nll);
  if (!gradients) return;
  const F16 factor = set(static_cast<float>(l.grad_scale / sum_exp));
  const F16 spread = set(static_cast<float>(-l.grad_scale * eps / static_cast<double>(V)));
  by_sixteen(V, [=](int64_t i, auto lanes) HWY_ATTR { store(fma(load(z + i, lanes), factor, spread), z + i, lanes); });
  z[target] -= static_cast<float>(l.grad_scale * (1.0 - eps));
}

void loss_rows(const VocabularyLoss& l, int64_t first, int64_t rows, float* logits, bool gradients) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, l.V));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t r = begin; r < end; ++r) loss_row(l, first + r, logits + r * l.V, gradients);
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(loss_rows);

// Rows of logits at a time: 8 MB of them, but 256 rows at least, so that the weights are read seldom (V = 50257: 51 MB).
int64_t block_rows(int64_t V) { return std::clamp<int64_t>((int64_t{2} << 20) / V, 256, 1024); }

// dx = dlogits W^T, dW (+)= x^T dlogits (laid out as W), dbias (+)= 1^T dlogits. The chains of dW and dbias run on from
// block to block, so they are one chain over the tokens.
void block_gradients(const VocabularyLoss& l, int64_t first, int64_t rows, const float* dlogits, const float* ones) {
  const float* x = l.x + first * l.C;
  Gemm g{};
  g.precision = l.precision;
  if (l.dx) {
    g.M = rows, g.N = l.C, g.K = l.V;
    g.a = {dlogits, l.V};
    g.b = l.weight;
    g.b.transposed = !l.weight.transposed;
    g.c = l.dx + first * l.C, g.ldc = l.C;
    gemm(g);
  }
  g.accumulate = l.accumulate || first > 0;
  g.K = rows;
  if (l.dweight) {
    const Operand words{dlogits, l.V}, features{x, l.C};
    g.M = l.weight.transposed ? l.V : l.C;
    g.N = l.weight.transposed ? l.C : l.V;
    g.a = l.weight.transposed ? words : features;
    g.a.transposed = true;
    g.b = l.weight.transposed ? features : words;
    g.c = l.dweight, g.ldc = l.weight.ld;
    gemm(g);
  }
  if (l.dbias) {
    g.M = 1, g.N = l.V;
    g.a = {ones, rows};
    g.b = {dlogits, l.V};
    g.c = l.dbias, g.ldc = l.V;
    g.precision = Precision::kF32;
    gemm(g);
  }
}

// What no token touches.
void clear_gradients(const VocabularyLoss& l) {
  const int64_t rows = l.weight.transposed ? l.V : l.C, columns = l.weight.transposed ? l.C : l.V;
  for (int64_t r = 0; l.dweight && r < rows; ++r) std::fill_n(l.dweight + r * l.weight.ld, columns, 0.0f);
  if (l.dbias) std::fill_n(l.dbias, l.V, 0.0f);
}

}  // namespace

void vocabulary_loss(const VocabularyLoss& l) {
  if (l.V <= 0) return;
  if (l.T <= 0) {
    if (!l.accumulate) clear_gradients(l);
    return;
  }
  const bool gradients = l.dx || l.dweight || l.dbias;
  const int64_t block = std::min(l.T, block_rows(l.V));
  const Scratch<float> logits(block * l.V), ones(l.dbias ? block : 0);
  if (l.dbias) std::fill(ones.data(), ones.data() + block, 1.0f);
  for (int64_t first = 0; first < l.T; first += block) {
    const int64_t rows = std::min(block, l.T - first);
    Gemm g{};
    g.M = rows, g.N = l.V, g.K = l.C;
    g.a = {l.x + first * l.C, l.C};
    g.b = l.weight;
    g.c = logits.data(), g.ldc = l.V;
    g.bias = l.bias;
    g.precision = l.precision;
    gemm(g);
    HWY_DYNAMIC_DISPATCH(loss_rows)(l, first, rows, logits.data(), gradients);
    if (gradients) block_gradients(l, first, rows, logits.data(), ones.data());
  }
}

}  // namespace heed::kernels
#endif
