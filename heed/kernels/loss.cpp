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
  Floats16 top = set(-std::numeric_limits<float>::infinity());
  double total = 0;
  for (int64_t v = 0; v < V; v += kChunk) {
    total += sum(sum_of(std::min(kChunk, V - v), [&](int64_t i, auto lanes) HWY_ATTR {
      const Floats16 x = load(z + v + i, lanes);
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
  const Floats16 shift = set(found.top);
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  const Floats16 total =
      gradients
          ? sum_of(V,
                   [=](int64_t i, auto lanes) HWY_ATTR {
                     const Floats16 e = exp(load(z + i, lanes, minus_infinity) - shift);
                     store(e, z + i, lanes);
                     return e;
                   })
          : sum_of(V, [=](int64_t i, auto lanes) HWY_ATTR { return exp(load(z + i, lanes, minus_infinity) - shift); });
  const double sum_exp = sum(total), log_sum = std::log(sum_exp), eps = l.smoothing;
  const double nll = log_sum - at_target;
  const double mean_log_p = found.sum / static_cast<double>(V) - found.top - log_sum;
  if (l.row_loss) l.row_loss[t] = static_cast<float>(eps > 0 ? (1.0 - eps) * nll - eps * mean_log_p : nll);
  if (l.row_nll) l.row_nll[t] = static_cast<float>(nll);
  if (!gradients) return;
  const Floats16 factor = set(static_cast<float>(l.grad_scale / sum_exp));
  const Floats16 spread = set(static_cast<float>(-l.grad_scale * eps / static_cast<double>(V)));
  by_sixteen(V, [=](int64_t i, auto lanes) HWY_ATTR { store(fma(load(z + i, lanes), factor, spread), z + i, lanes); });
  z[target] -= static_cast<float>(l.grad_scale * (1.0 - eps));
}

int64_t grain_of(int64_t V) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, V)); }

void loss_rows(const VocabularyLoss& l, int64_t first, int64_t rows, float* logits, bool gradients) {
  parallel_for(rows, grain_of(l.V), [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t r = begin; r < end; ++r) loss_row(l, first + r, logits + r * l.V, gradients);
  });
}

// exp of a row less its top, in e; the sum of them.
HWY_INLINE double exp_row(const float* z, int64_t V, Floats16 top, float* e) {
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  return sum(sum_of(V, [=](int64_t i, auto lanes) HWY_ATTR {
    const Floats16 x = exp(load(z + i, lanes, minus_infinity) - top);
    store(x, e + i, lanes);
    return x;
  }));
}

// agreement / 4 * (KL(p || q) + KL(q || p)) of two rows of logits, what each of them carries. Its gradients, for both
// together, stay in da and db. With d = log p - log q and its means over p and over q (a constant in d cancels out):
// KL + KL = mean_p - mean_q;  da = factor * (p (d - mean_p) + p - q),  db = factor * (q (mean_q - d) + q - p).
HWY_INLINE double disagreement(const VocabularyLoss& l, const float* a, const float* b, float* da, float* db) {
  const int64_t V = l.V;
  const Floats16 top_a = set(top_and_sum(a, V).top), top_b = set(top_and_sum(b, V).top);
  const double total_a = exp_row(a, V, top_a, da), total_b = exp_row(b, V, top_b, db);
  const auto d = [=](int64_t i, auto lanes)
                     HWY_ATTR { return (load(a + i, lanes) - top_a) - (load(b + i, lanes) - top_b); };
  const auto mean = [=](const float* e, double total) HWY_ATTR {
    return sum(sum_of(V, [=](int64_t i, auto lanes) HWY_ATTR { return load(e + i, lanes) * d(i, lanes); })) / total;
  };
  const double mean_p = mean(da, total_a), mean_q = mean(db, total_b);
  const Floats16 to_p = set(static_cast<float>(1 / total_a)), to_q = set(static_cast<float>(1 / total_b));
  const Floats16 of_p = set(static_cast<float>(mean_p)), of_q = set(static_cast<float>(mean_q));
  const Floats16 factor = set(0.5f * l.agreement * l.grad_scale);
  by_sixteen(V, [=](int64_t i, auto lanes) HWY_ATTR {
    const Floats16 p = load(da + i, lanes) * to_p, q = load(db + i, lanes) * to_q, apart = d(i, lanes);
    store(factor * (p * (apart - of_p) + (p - q)), da + i, lanes);
    store(factor * (q * (of_q - apart) + (q - p)), db + i, lanes);
  });
  return 0.25 * l.agreement * (mean_p - mean_q);
}

// Rows of logits [first, first + rows) and behind them those of the second half.
void agreeing_rows(const VocabularyLoss& l, int64_t first, int64_t rows, float* logits, bool gradients) {
  const int64_t V = l.V;
  parallel_for(rows, grain_of(V), [&](int64_t begin, int64_t end) HWY_ATTR {
    const Scratch<float> pull(2 * V);  // of the two rows towards each other
    for (int64_t r = begin; r < end; ++r) {
      const int64_t t = first + r, twin = t + l.T / 2;
      float *a = logits + r * V, *b = logits + (rows + r) * V, *da = pull.data(), *db = da + V;
      const double apart = l.targets[t] < 0 ? 0 : disagreement(l, a, b, da, db);
      loss_row(l, t, a, gradients), loss_row(l, twin, b, gradients);
      if (l.targets[t] < 0) continue;
      for (const int64_t row : {t, twin}) {
        if (l.row_loss) l.row_loss[row] = static_cast<float>(l.row_loss[row] + apart);
      }
      if (!gradients) continue;
      by_sixteen(V, [=](int64_t i, auto lanes) HWY_ATTR {
        store(load(a + i, lanes) + load(da + i, lanes), a + i, lanes);
        store(load(b + i, lanes) + load(db + i, lanes), b + i, lanes);
      });
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(loss_rows);
HWY_EXPORT(agreeing_rows);

// Rows of logits at a time: 8 MB of them, but 256 rows at least, so that the weights are read seldom (V = 50257: 51 MB).
int64_t block_rows(int64_t V) { return std::clamp<int64_t>((int64_t{2} << 20) / V, 256, 1024); }

void block_logits(const VocabularyLoss& l, int64_t first, int64_t rows, float* logits) {
  Gemm g{};
  g.M = rows, g.N = l.V, g.K = l.C;
  g.a = {l.x + first * l.C, l.C};
  g.b = l.weight;
  g.c = logits, g.ldc = l.V;
  g.bias = l.bias;
  g.precision = l.precision;
  gemm(g);
}

// dx = dlogits W^T, dW (+)= x^T dlogits (laid out as W), dbias (+)= 1^T dlogits. The chains of dW and dbias run on from
// block to block, so they are one chain over the tokens, in the order of the blocks.
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
  // A block is one piece of rows, or the same piece of both halves.
  const int64_t pieces = l.agreement > 0 ? 2 : 1, half = l.T / pieces;
  const int64_t block = std::min(half, block_rows(l.V));
  const Scratch<float> logits(pieces * block * l.V), ones(l.dbias ? block : 0);
  if (l.dbias) std::fill(ones.data(), ones.data() + block, 1.0f);
  for (int64_t first = 0; first < half; first += block) {
    const int64_t rows = std::min(block, half - first);
    for (int64_t i = 0; i < pieces; ++i) block_logits(l, i * half + first, rows, logits.data() + i * rows * l.V);
    if (pieces == 1) {
      HWY_DYNAMIC_DISPATCH(loss_rows)(l, first, rows, logits.data(), gradients);
    } else {
      HWY_DYNAMIC_DISPATCH(agreeing_rows)(l, first, rows, logits.data(), gradients);
    }
    for (int64_t i = 0; i < pieces && gradients; ++i)
      block_gradients(l, i * half + first, rows, logits.data() + i * rows * l.V, ones.data());
  }
}

}  // namespace heed::kernels
#endif
