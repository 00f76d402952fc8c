// Attention as its formula says it, in double, one query at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heed/base/random.h"
#include "heed/kernels/attention.h"

namespace heed::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One query of one head and the keys of its sequence.
struct Query {
  const Attention& a;
  int64_t sequence, head, i;
  int64_t q_row = a.q_offsets[sequence], k_row = a.k_offsets[sequence];
  int64_t nq = a.q_offsets[sequence + 1] - q_row, nk = a.k_offsets[sequence + 1] - k_row;
  int64_t kv_head = head / (a.heads / a.kv_heads);

  int64_t distance(int64_t j) const { return j - (i + nk - nq); }
  int64_t relative_entry(int64_t j) const {
    return std::clamp<int64_t>(distance(j) - a.relative_first, 0, a.relative_count - 1);
  }
  const float* q(const Heads& x) const { return x.data + (q_row + i) * x.ld + head * a.D; }
  int64_t key_row(int64_t j) const { return a.k_rows ? a.k_rows[k_row + j] : k_row + j; }
  const float* k(const Heads& x, int64_t j) const { return x.data + key_row(j) * x.ld + kv_head * a.D; }
  const float* v(const Heads& x, int64_t j) const { return x.data + key_row(j) * x.ld + kv_head * a.Dv; }
};

double dot(const float* x, const float* y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

// Scores and biases count as far as the largest float over log2(e); only a bias of -inf masks.
double sum_in_range(double score, double bias) {
  const double most = static_cast<double>(std::numeric_limits<float>::max()) * std::log(2.0);
  if (score == -kInfinity || bias == -kInfinity) return -kInfinity;
  const auto in_range = [&](double x) { return std::clamp(x, -most, most); };
  return in_range(in_range(score) + in_range(bias));
}

double score(const Query& q, const Heads& queries, const Heads& keys, int64_t j) {
  const Attention& a = q.a;
  if (a.causal && q.distance(j) > 0) return -kInfinity;
  if (a.key_lengths && j >= a.key_lengths[q.sequence]) return -kInfinity;
  const int64_t at = q.sequence * a.mask.stride_sequence + q.head * a.mask.stride_head + q.i * a.mask.stride_row + j;
  if (a.mask.keep && !a.mask.keep[at]) return -kInfinity;
  double bias = 0;
  if (a.slopes) bias -= static_cast<double>(a.slopes[q.head]) * static_cast<double>(std::abs(q.distance(j)));
  if (a.relative) bias += a.relative[q.relative_entry(j) * a.heads + q.head];
  double s = sum_in_range(dot(q.q(queries), q.k(keys, j), a.D) * a.scale, bias);
  if (a.mask.add) s = sum_in_range(s, a.mask.add[at]);
  return s;
}

struct Weights {
  std::vector<double> weights;
  double largest, sum;  // of the scores, and of e^(score - largest)
};

Weights weigh(const Query& q, const Heads& queries, const Heads& keys) {
  Weights w{std::vector<double>(static_cast<size_t>(q.nk)), -kInfinity, 0};
  double &largest = w.largest, &sum = w.sum;
  for (int64_t j = 0; j < q.nk; ++j) {
    w.weights[j] = score(q, queries, keys, j);
    largest = std::max(largest, w.weights[j]);
  }
  for (double& x : w.weights) {
    x = largest == -kInfinity ? 0 : std::exp(x - largest);
    sum += x;
  }
  if (sum == 0) return w;
  for (double& x : w.weights) x /= sum;
  return w;
}

// What dropout multiplies the weight of key j with.
double kept(const Query& q, int64_t j) {
  const Dropout& d = q.a.dropout;
  if (d.p == 0) return 1;
  const uint32_t id = q.a.sequence_ids ? q.a.sequence_ids[q.sequence] : static_cast<uint32_t>(q.sequence);
  const Philox block =
      philox({static_cast<uint32_t>(q.i), static_cast<uint32_t>(j / 8), id, static_cast<uint32_t>(q.head + 1)},
             {static_cast<uint32_t>(d.key), static_cast<uint32_t>(d.key >> 32)});
  const uint32_t word = block[static_cast<size_t>(j % 8 / 2)];
  const uint32_t half = j % 2 ? word >> 16 : word & 0xFFFF;
  return half >= std::lround(static_cast<double>(d.p) * 65536) ? 1 / (1 - static_cast<double>(d.p)) : 0;
}

template <class F>
void each_query(const Attention& a, F&& f) {
  for (int64_t s = 0; s < a.sequences; ++s) {
    for (int64_t head = 0; head < a.heads; ++head) {
      for (int64_t i = 0; i < a.q_offsets[s + 1] - a.q_offsets[s]; ++i) f(Query{a, s, head, i});
    }
  }
}

// Gradients in double until all is summed.
struct Gradient {
  const HeadsOut& to;
  int64_t rows, columns;
  std::vector<double> sum = std::vector<double>(static_cast<size_t>(rows * columns));
  void add(int64_t row, int64_t column, double x) { sum[static_cast<size_t>(row * columns + column)] += x; }
  void write() const {
    if (!to.data) return;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        float& y = to.data[r * to.ld + c];
        y = static_cast<float>((to.accumulate ? y : 0.0) + sum[static_cast<size_t>(r * columns + c)]);
      }
    }
  }
};

}  // namespace

void attention_reference(const Attention& a, const AttentionForward& f) {
  each_query(a, [&](const Query& q) {
    const Weights w = weigh(q, f.q, f.k);
    float* out = f.out + (q.q_row + q.i) * f.out_ld + q.head * a.Dv;
    for (int64_t c = 0; c < a.Dv; ++c) {
      double sum = 0;
      for (int64_t j = 0; j < q.nk; ++j) sum += w.weights[j] * kept(q, j) * q.v(f.v, j)[c];
      out[c] = static_cast<float>(sum);
    }
    if (!f.softmax) return;
    f.softmax[(q.q_row + q.i) * a.heads + q.head] = {static_cast<float>(w.largest / std::log(2.0)),
                                                     static_cast<float>(w.sum)};
  });
}

void attention_backward_reference(const Attention& a, const AttentionBackward& b) {
  const int64_t Tq = a.q_offsets[a.sequences], Tk = a.k_offsets[a.sequences];
  Gradient dq{b.dq, Tq, a.heads * a.D}, dk{b.dk, Tk, a.kv_heads * a.D}, dv{b.dv, Tk, a.kv_heads * a.Dv};
  std::vector<double> drelative(static_cast<size_t>(b.drelative ? a.relative_count * a.heads : 0));
  each_query(a, [&](const Query& q) {
    const Weights w = weigh(q, b.q, b.k);
    const float* dout = b.dout.data + (q.q_row + q.i) * b.dout.ld + q.head * a.Dv;
    std::vector<double> dweights(static_cast<size_t>(q.nk));
    double delta = 0;
    for (int64_t j = 0; j < q.nk; ++j) {
      dweights[j] = dot(dout, q.v(b.v, j), a.Dv) * kept(q, j);
      delta += w.weights[j] * dweights[j];
    }
    for (int64_t j = 0; j < q.nk; ++j) {
      const double dscore = w.weights[j] * (dweights[j] - delta);
      const int64_t row = q.k_row + j;
      for (int64_t c = 0; c < a.Dv; ++c) dv.add(row, q.kv_head * a.Dv + c, w.weights[j] * kept(q, j) * dout[c]);
      for (int64_t c = 0; c < a.D; ++c) {
        dk.add(row, q.kv_head * a.D + c, dscore * a.scale * q.q(b.q)[c]);
        dq.add(q.q_row + q.i, q.head * a.D + c, dscore * a.scale * q.k(b.k, j)[c]);
      }
      if (b.drelative) drelative[static_cast<size_t>(q.relative_entry(j) * a.heads + q.head)] += dscore;
    }
  });
  dq.write();
  dk.write();
  dv.write();
  for (size_t i = 0; b.drelative && i < drelative.size(); ++i) b.drelative[i] += static_cast<float>(drelative[i]);
}

}  // namespace heed::kernels
