// Cases of attention for its tests: owned inputs, drawn options, both ways to run them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "heed/base/random.h"
#include "heed/kernels/attention.h"

namespace heed::kernels {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

inline Floats random_floats(Random& random, int64_t n) {
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = random.normal();
  return x;
}

inline std::vector<int32_t> offsets_of(const std::vector<int>& lengths) {
  std::vector<int32_t> offsets{0};
  for (int n : lengths) offsets.push_back(offsets.back() + n);
  return offsets;
}

// Everything of one call, owned. q, k and v are column slices of wider matrices, as projections give them.
struct Case {
  std::vector<int32_t> q_offsets, k_offsets, key_lengths;
  Floats q, k, v, add, slopes, relative, dout;
  std::vector<uint8_t> keep;
  std::vector<uint32_t> ids;
  Attention a{};
  int64_t q_ld = 0, k_ld = 0, v_ld = 0;

  Case(const std::vector<int>& nq, const std::vector<int>& nk, std::vector<int64_t> heads_sizes, uint64_t seed = 1)
      : q_offsets(offsets_of(nq)), k_offsets(offsets_of(nk)) {
    Random random(seed, 7);
    a.sequences = static_cast<int64_t>(nq.size());
    a.heads = heads_sizes[0], a.kv_heads = heads_sizes[1], a.D = heads_sizes[2], a.Dv = heads_sizes[3];
    a.scale = 1.0f / std::sqrt(static_cast<float>(a.D));
    q_ld = a.heads * a.D + 5, k_ld = a.kv_heads * a.D + 3, v_ld = a.kv_heads * a.Dv + 16;
    q = random_floats(random, q_offsets.back() * q_ld);
    k = random_floats(random, k_offsets.back() * k_ld);
    v = random_floats(random, k_offsets.back() * v_ld);
    dout = random_floats(random, q_offsets.back() * a.heads * a.Dv);
    point();
  }
  Case(const Case&) = delete;

  void point() {
    a.q_offsets = q_offsets.data();
    a.k_offsets = k_offsets.data();
  }
  int64_t Tq() const { return q_offsets.back(); }
  int64_t Tk() const { return k_offsets.back(); }
  int64_t out_ld() const { return a.heads * a.Dv; }
  int64_t nq(int64_t s) const { return q_offsets[static_cast<size_t>(s) + 1] - q_offsets[static_cast<size_t>(s)]; }
  int64_t nk(int64_t s) const { return k_offsets[static_cast<size_t>(s) + 1] - k_offsets[static_cast<size_t>(s)]; }
  Heads heads_q() const { return {q.data(), q_ld}; }
  Heads heads_k() const { return {k.data(), k_ld}; }
  Heads heads_v() const { return {v.data(), v_ld}; }

  // Options, each drawn from the case's own stream.
  void set_key_lengths(Random& random) {
    for (int64_t s = 0; s < a.sequences; ++s)
      key_lengths.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(nk(s)) + 1)));
    a.key_lengths = key_lengths.data();
  }
  void set_mask(Random& random, bool additive) {
    int64_t rows = 1, columns = 1;
    for (int64_t s = 0; s < a.sequences; ++s) rows = std::max(rows, nq(s)), columns = std::max(columns, nk(s));
    a.mask.stride_row = columns + 1;
    a.mask.stride_head = rows * a.mask.stride_row;
    a.mask.stride_sequence = a.heads * a.mask.stride_head;
    const int64_t n = a.sequences * a.mask.stride_sequence;
    if (additive) {
      add = random_floats(random, n);
      for (float& x : add) x = random.below(4) == 0 ? -kInf : x;
      a.mask.add = add.data();
    } else {
      for (int64_t i = 0; i < n; ++i) keep.push_back(random.below(3) != 0);
      a.mask.keep = keep.data();
    }
  }
  void set_slopes() {
    for (int64_t h = 0; h < a.heads; ++h) slopes.push_back(std::exp2(-static_cast<float>(h + 1)));
    a.slopes = slopes.data();
  }
  void set_relative(Random& random) {
    a.relative_first = -static_cast<int64_t>(random.below(9));
    a.relative_count = 1 + static_cast<int64_t>(random.below(17));
    relative = random_floats(random, a.relative_count * a.heads);
    a.relative = relative.data();
  }
  void set_dropout(Random& random) {
    a.dropout = {0.3f, (uint64_t{random.next()} << 32) | random.next()};
    for (int64_t s = 0; s < a.sequences; ++s) ids.push_back(random.next());
    if (random.below(2)) a.sequence_ids = ids.data();
  }
};

struct Outputs {
  std::vector<SoftmaxRow> softmax;
  Floats out, dq, dk, dv, drelative;
};

enum class Which { kFast, kReference };

inline Outputs run(const Case& c, Which which, bool accumulate = false) {
  const Attention& a = c.a;
  Outputs o;
  o.out.assign(static_cast<size_t>(c.Tq() * c.out_ld()), 7.0f);
  o.softmax.assign(static_cast<size_t>(c.Tq() * a.heads), {7.0f, 7.0f});
  o.dq.assign(static_cast<size_t>(c.Tq() * c.q_ld), 0.5f);
  o.dk.assign(static_cast<size_t>(c.Tk() * c.k_ld), 0.5f);
  o.dv.assign(static_cast<size_t>(c.Tk() * c.v_ld), 0.5f);
  o.drelative.assign(static_cast<size_t>(a.relative ? a.relative_count * a.heads : 0), 0.5f);
  const AttentionForward f{c.heads_q(), c.heads_k(), c.heads_v(), o.out.data(), c.out_ld(), o.softmax.data()};
  which == Which::kFast ? attention(a, f) : attention_reference(a, f);
  const AttentionBackward b{f.q,
                            f.k,
                            f.v,
                            {o.out.data(), c.out_ld()},
                            {c.dout.data(), c.out_ld()},
                            o.softmax.data(),
                            {o.dq.data(), c.q_ld, accumulate},
                            {o.dk.data(), c.k_ld, accumulate},
                            {o.dv.data(), c.v_ld, accumulate},
                            a.relative ? o.drelative.data() : nullptr};
  which == Which::kFast ? attention_backward(a, b) : attention_backward_reference(a, b);
  return o;
}

inline void expect_near(const Floats& got, const Floats& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 1;
  for (float x : expected) largest = std::isfinite(x) ? std::max(largest, std::fabs(static_cast<double>(x))) : largest;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;  // also both -inf
    ASSERT_LE(std::fabs(static_cast<double>(got[i]) - expected[i]), tolerance * largest)
        << what << " at " << i << ": " << got[i] << " " << expected[i];
  }
}

// log2 of each row's sum of e^score; -inf where it saw nothing
inline Floats logsumexp(const Outputs& o) {
  Floats x;
  for (const SoftmaxRow& row : o.softmax) x.push_back(row.sum == 0 ? -kInf : row.largest + std::log2(row.sum));
  return x;
}

inline void expect_near(const Outputs& got, const Outputs& expected, double tolerance, const std::string& what) {
  expect_near(got.out, expected.out, tolerance, what + " out");
  expect_near(logsumexp(got), logsumexp(expected), tolerance, what + " logsumexp");
  expect_near(got.dq, expected.dq, tolerance, what + " dq");
  expect_near(got.dk, expected.dk, tolerance, what + " dk");
  expect_near(got.dv, expected.dv, tolerance, what + " dv");
  // Thousands of terms that cancel: their rounding does not.
  expect_near(got.drelative, expected.drelative, 10 * tolerance, what + " drelative");
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline void expect_same_bits(const Outputs& a, const Outputs& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a.out, b.out)) << what << " out";
  EXPECT_TRUE(same_bits(logsumexp(a), logsumexp(b))) << what << " logsumexp";
  EXPECT_TRUE(same_bits(a.dq, b.dq)) << what << " dq";
  EXPECT_TRUE(same_bits(a.dk, b.dk)) << what << " dk";
  EXPECT_TRUE(same_bits(a.dv, b.dv)) << what << " dv";
  EXPECT_TRUE(same_bits(a.drelative, b.drelative)) << what << " drelative";
}

// One of everything, drawn by the number of the case.
inline std::unique_ptr<Case> random_case(uint64_t number, int longest) {
  Random random(number, 99);
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<uint64_t>(n))); };
  std::vector<int> nq, nk;
  const int sequences = below(4) + (number % 9 == 0 ? 0 : 1);
  for (int s = 0; s < sequences; ++s) {
    nq.push_back(below(longest + 1));
    nk.push_back(below(2) ? nq.back() : below(longest + 1));
  }
  constexpr int64_t kSizes[] = {1, 3, 7, 16, 20, 32, 40, 64, 80, 128};
  const int64_t kv_heads = 1 + below(3), heads = kv_heads * (1 + below(3));
  const int64_t D = kSizes[below(10)];
  auto c = std::make_unique<Case>(nq, nk, std::vector<int64_t>{heads, kv_heads, D, below(2) ? D : kSizes[below(10)]},
                                  number);
  c->a.causal = below(2);
  if (below(4) == 0) c->set_key_lengths(random);
  if (below(4) == 0) c->set_mask(random, false);
  if (below(4) == 0) c->set_mask(random, true);
  if (below(4) == 0) c->set_slopes();
  if (below(3) == 0) c->set_relative(random);
  if (below(3) == 0) c->set_dropout(random);
  return c;
}

// Rows [first, first + rows) of a matrix.
inline Floats rows_of(const Floats& x, int64_t ld, int64_t first, int64_t rows) {
  return Floats(x.begin() + first * ld, x.begin() + (first + rows) * ld);
}

}  // namespace heed::kernels
