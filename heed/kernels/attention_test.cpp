#include "heed/kernels/attention.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace heed::kernels {
namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

Floats random_floats(Random& random, int64_t n) {
  Floats x(static_cast<size_t>(n));
  for (float& v : x) v = random.normal();
  return x;
}

std::vector<int32_t> offsets_of(const std::vector<int>& lengths) {
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
    for (int64_t s = 0; s < a.sequences; ++s) key_lengths.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(nk(s)) + 1)));
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
  Floats out, logsumexp, dq, dk, dv, drelative;
};

enum class Which { kFast, kReference };

Outputs run(const Case& c, Which which, bool accumulate = false) {
  const Attention& a = c.a;
  Outputs o;
  o.out.assign(static_cast<size_t>(c.Tq() * c.out_ld()), 7.0f);
  o.logsumexp.assign(static_cast<size_t>(c.Tq() * a.heads), 7.0f);
  o.dq.assign(static_cast<size_t>(c.Tq() * c.q_ld), 0.5f);
  o.dk.assign(static_cast<size_t>(c.Tk() * c.k_ld), 0.5f);
  o.dv.assign(static_cast<size_t>(c.Tk() * c.v_ld), 0.5f);
  o.drelative.assign(static_cast<size_t>(a.relative ? a.relative_count * a.heads : 0), 0.5f);
  const AttentionForward f{c.heads_q(), c.heads_k(), c.heads_v(), o.out.data(), c.out_ld(), o.logsumexp.data()};
  which == Which::kFast ? attention(a, f) : attention_reference(a, f);
  const AttentionBackward b{f.q, f.k, f.v, {o.out.data(), c.out_ld()}, {c.dout.data(), c.out_ld()}, o.logsumexp.data(),
                            {o.dq.data(), c.q_ld, accumulate}, {o.dk.data(), c.k_ld, accumulate},
                            {o.dv.data(), c.v_ld, accumulate}, a.relative ? o.drelative.data() : nullptr};
  which == Which::kFast ? attention_backward(a, b) : attention_backward_reference(a, b);
  return o;
}

void expect_near(const Floats& got, const Floats& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 1;
  for (float x : expected) largest = std::isfinite(x) ? std::max(largest, std::fabs(static_cast<double>(x))) : largest;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;  // also both -inf
    ASSERT_LE(std::fabs(static_cast<double>(got[i]) - expected[i]), tolerance * largest) << what << " at " << i << ": " << got[i] << " " << expected[i];
  }
}

void expect_near(const Outputs& got, const Outputs& expected, double tolerance, const std::string& what) {
  expect_near(got.out, expected.out, tolerance, what + " out");
  expect_near(got.logsumexp, expected.logsumexp, tolerance, what + " logsumexp");
  expect_near(got.dq, expected.dq, tolerance, what + " dq");
  expect_near(got.dk, expected.dk, tolerance, what + " dk");
  expect_near(got.dv, expected.dv, tolerance, what + " dv");
  // Thousands of terms that cancel: their rounding does not.
  expect_near(got.drelative, expected.drelative, 10 * tolerance, what + " drelative");
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_same_bits(const Outputs& a, const Outputs& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a.out, b.out)) << what << " out";
  EXPECT_TRUE(same_bits(a.logsumexp, b.logsumexp)) << what << " logsumexp";
  EXPECT_TRUE(same_bits(a.dq, b.dq)) << what << " dq";
  EXPECT_TRUE(same_bits(a.dk, b.dk)) << what << " dk";
  EXPECT_TRUE(same_bits(a.dv, b.dv)) << what << " dv";
  EXPECT_TRUE(same_bits(a.drelative, b.drelative)) << what << " drelative";
}

// One of everything, drawn by the number of the case.
std::unique_ptr<Case> random_case(uint64_t number, int longest) {
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
  auto c = std::make_unique<Case>(nq, nk, std::vector<int64_t>{heads, kv_heads, D, below(2) ? D : kSizes[below(10)]}, number);
  c->a.causal = below(2);
  if (below(4) == 0) c->set_key_lengths(random);
  if (below(4) == 0) c->set_mask(random, false);
  if (below(4) == 0) c->set_mask(random, true);
  if (below(4) == 0) c->set_slopes();
  if (below(3) == 0) c->set_relative(random);
  if (below(3) == 0) c->set_dropout(random);
  return c;
}

TEST(Attention, MatchesReferenceOnRandomCases) {
  for (uint64_t number = 0; number < 150; ++number) {
    const auto c = random_case(number, number % 3 == 0 ? 150 : number % 3 == 1 ? 40 : 17);
    const bool accumulate = number % 2;
    expect_near(run(*c, Which::kFast, accumulate), run(*c, Which::kReference, accumulate), 4e-6, "case " + std::to_string(number));
    if (HasFatalFailure()) return;
  }
}

TEST(Attention, MatchesReferenceOnLongSequences) {
  for (bool causal : {false, true}) {
    Case c({300, 129}, {300, 401}, {2, 1, 32, 48}, 5);
    c.a.causal = causal;
    expect_near(run(c, Which::kFast), run(c, Which::kReference), 1e-5, causal ? "causal" : "full");
  }
}

// One sequence, one head, nothing special.
Attention one_head(const int32_t* q_offsets, const int32_t* k_offsets, int64_t size, float scale) {
  Attention a{};
  a.sequences = a.heads = a.kv_heads = 1;
  a.q_offsets = q_offsets, a.k_offsets = k_offsets;
  a.D = a.Dv = size;
  a.scale = scale;
  return a;
}

TEST(Attention, WorkedExample) {
  const Floats q{1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0}, k{1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0};
  const Floats v{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const int32_t offsets[] = {0, 3};
  const Attention a = one_head(offsets, offsets, 4, 0.5f);
  Floats out(12), weights(9), scores(9);
  attention(a, {{q.data(), 4}, {k.data(), 4}, {v.data(), 4}, out.data(), 4, nullptr});
  const double first[] = {5.711177, 6.711177, 7.711177, 8.711177}, third[] = {4.202862, 5.202862, 6.202862, 7.202862};
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(out[c], first[c], 1e-6);
    EXPECT_NEAR(out[8 + c], third[c], 1e-6);
  }
  attention_weights(a, {{q.data(), 4}, {k.data(), 4}, 0, 0, 0, 3, false, weights.data(), scores.data()});
  const double expected_weights[] = {0.274069, 0.274069, 0.451863};
  for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(weights[j], expected_weights[j], 1e-6);
  EXPECT_EQ(scores, (Floats{0.5f, 0.5f, 1, 0.5f, 0.5f, 0, 1, 0, 0.5f}));
}

TEST(Attention, GradientsAgreeWithDifferencesOfTheReference) {
  Case c({5, 3}, {6, 3}, {4, 2, 5, 3}, 11);
  Random random(3);
  c.a.causal = true;
  c.set_slopes();
  c.set_relative(random);
  c.set_dropout(random);
  const Outputs got = run(c, Which::kFast);
  const auto loss = [&] {
    Floats out(static_cast<size_t>(c.Tq() * c.out_ld()));
    attention_reference(c.a, {c.heads_q(), c.heads_k(), c.heads_v(), out.data(), c.out_ld(), nullptr});
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * c.dout[i];
    return sum;
  };
  const auto check = [&](Floats& x, int64_t ld, int64_t columns, const Floats& gradient, float before) {
    for (size_t i = 0; i < x.size(); i += 3) {
      if (static_cast<int64_t>(i) % ld >= columns) continue;
      const float kept = x[i], step = 0.01f;
      x[i] = kept + step;
      const double up = loss();
      x[i] = kept - step;
      const double down = loss();
      x[i] = kept;
      EXPECT_NEAR(gradient[i] - before, (up - down) / (2 * step), 1e-3) << i;
    }
  };
  check(c.q, c.q_ld, c.a.heads * c.a.D, got.dq, 0);
  check(c.k, c.k_ld, c.a.kv_heads * c.a.D, got.dk, 0);
  check(c.v, c.v_ld, c.a.kv_heads * c.a.Dv, got.dv, 0);
  check(c.relative, c.a.heads, c.a.heads, got.drelative, 0.5f);
}

TEST(Attention, SameBitsWithAnyNumberOfThreads) {
  for (uint64_t number = 0; number < 12; ++number) {
    const auto c = random_case(1000 + number, 150);
    set_num_threads(1);
    const Outputs one = run(*c, Which::kFast);
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      expect_same_bits(one, run(*c, Which::kFast), std::to_string(threads) + " threads, case " + std::to_string(number));
    }
  }
  // One head alone: more threads than heads cut its work by queries and by keys.
  Case c({600}, {700}, {2, 1, 32, 32}, 17);
  c.a.causal = true;
  set_num_threads(1);
  const Outputs one = run(c, Which::kFast);
  set_num_threads(3);
  expect_same_bits(one, run(c, Which::kFast), "few heads");
  set_num_threads(0);
}

TEST(Attention, SameBitsOnEveryWideTarget) {
  if (!(hwy::SupportedTargets() & HWY_AVX3)) GTEST_SKIP() << "no AVX-512 here";
  for (uint64_t number = 0; number < 30; ++number) {
    const auto c = random_case(2000 + number, 150);
    const Outputs wide = run(*c, Which::kFast);
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    const Outputs narrow = run(*c, Which::kFast);
    hwy::SetSupportedTargetsForTest(0);
    expect_same_bits(wide, narrow, "case " + std::to_string(number));
  }
}

TEST(Attention, BaselineMatchesReference) {
  // Nothing but the baseline is left.
  hwy::SetSupportedTargetsForTest(int64_t{1} << 62);
  for (uint64_t number = 0; number < 20; ++number) {
    const auto c = random_case(3000 + number, 40);
    expect_near(run(*c, Which::kFast), run(*c, Which::kReference), 6e-6, "case " + std::to_string(number));
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Rows [first, first + rows) of a matrix.
Floats rows_of(const Floats& x, int64_t ld, int64_t first, int64_t rows) {
  return Floats(x.begin() + first * ld, x.begin() + (first + rows) * ld);
}

TEST(Attention, NeighboursInTheBatchHaveNoEffect) {
  Case batch({20, 150, 7}, {20, 140, 33}, {4, 2, 20, 32}, 21);
  batch.a.dropout = {0.25f, 77};
  batch.a.causal = true;
  const Outputs all = run(batch, Which::kFast);
  for (int64_t s = 0; s < 3; ++s) {
    const auto at = static_cast<size_t>(s);
    Case alone({static_cast<int>(batch.nq(s))}, {static_cast<int>(batch.nk(s))}, {4, 2, 20, 32}, 22);
    alone.q = rows_of(batch.q, batch.q_ld, batch.q_offsets[at], batch.nq(s));
    alone.k = rows_of(batch.k, batch.k_ld, batch.k_offsets[at], batch.nk(s));
    alone.v = rows_of(batch.v, batch.v_ld, batch.k_offsets[at], batch.nk(s));
    alone.dout = rows_of(batch.dout, batch.out_ld(), batch.q_offsets[at], batch.nq(s));
    alone.ids = {static_cast<uint32_t>(s)};
    alone.a.sequence_ids = alone.ids.data();
    alone.a.dropout = batch.a.dropout;
    alone.a.causal = true;
    const Outputs one = run(alone, Which::kFast);
    EXPECT_TRUE(same_bits(one.out, rows_of(all.out, batch.out_ld(), batch.q_offsets[at], batch.nq(s)))) << s;
    EXPECT_TRUE(same_bits(one.dq, rows_of(all.dq, batch.q_ld, batch.q_offsets[at], batch.nq(s)))) << s;
    EXPECT_TRUE(same_bits(one.dk, rows_of(all.dk, batch.k_ld, batch.k_offsets[at], batch.nk(s)))) << s;
    EXPECT_TRUE(same_bits(one.dv, rows_of(all.dv, batch.v_ld, batch.k_offsets[at], batch.nk(s)))) << s;
  }
}

TEST(Attention, FutureKeysHaveNoEffect) {
  for (int n : {5, 40, 200}) {
    Case c({n}, {n}, {2, 1, 16, 16}, 31);
    c.a.causal = true;
    const Outputs before = run(c, Which::kFast);
    const int64_t cut = n / 2;
    for (int64_t i = cut * c.k_ld; i < c.Tk() * c.k_ld; ++i) c.k[static_cast<size_t>(i)] *= -1e10f;
    for (int64_t i = cut * c.v_ld; i < c.Tk() * c.v_ld; ++i) c.v[static_cast<size_t>(i)] += 1e10f;
    const Outputs after = run(c, Which::kFast);
    EXPECT_TRUE(same_bits(rows_of(before.out, c.out_ld(), 0, cut), rows_of(after.out, c.out_ld(), 0, cut))) << n;
    EXPECT_TRUE(same_bits(rows_of(before.dq, c.q_ld, 0, cut), rows_of(after.dq, c.q_ld, 0, cut))) << n;
    EXPECT_FALSE(same_bits(before.out, after.out));
  }
}

// What decoding with a cache relies on: the last row alone, with the keys so far, equals the row of the full run.
TEST(Attention, ARowAloneEqualsTheRowOfTheFullRun) {
  Case c({300}, {300}, {4, 2, 24, 32}, 41);
  c.a.causal = true;
  c.set_slopes();
  const Outputs full = run(c, Which::kFast);
  for (int64_t rows : {1, 3, 20}) {
    for (int64_t last : {20, 63, 64, 65, 128, 129, 257, 300}) {
      const int32_t q_offsets[] = {0, static_cast<int32_t>(rows)}, k_offsets[] = {0, static_cast<int32_t>(last)};
      Attention a = c.a;
      a.q_offsets = q_offsets;
      a.k_offsets = k_offsets;
      Floats out(static_cast<size_t>(rows * c.out_ld()));
      attention(a, {{c.q.data() + (last - rows) * c.q_ld, c.q_ld}, c.heads_k(), c.heads_v(), out.data(), c.out_ld(), nullptr});
      EXPECT_TRUE(same_bits(out, rows_of(full.out, c.out_ld(), last - rows, rows))) << rows << " rows to " << last;
    }
  }
}

TEST(Attention, FullyMaskedRowsGiveZeros) {
  Case c({4, 6}, {4, 3}, {2, 1, 8, 8}, 51);
  c.a.causal = true;  // the first three queries of the second sequence come before its first key
  c.key_lengths = {0, 3};
  c.a.key_lengths = c.key_lengths.data();
  const Outputs o = run(c, Which::kFast);
  const int64_t zero_rows = 7;
  for (int64_t i = 0; i < zero_rows * c.out_ld(); ++i) EXPECT_EQ(o.out[static_cast<size_t>(i)], 0.0f);
  for (int64_t i = 0; i < zero_rows * 2; ++i) EXPECT_EQ(o.logsumexp[static_cast<size_t>(i)], -kInf);
  for (int64_t r = 0; r < zero_rows; ++r) {
    for (int64_t i = 0; i < c.a.heads * c.a.D; ++i) EXPECT_EQ(o.dq[static_cast<size_t>(r * c.q_ld + i)], 0.0f);
  }
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t i = 0; i < c.a.D; ++i) EXPECT_EQ(o.dk[static_cast<size_t>(r * c.k_ld + i)], 0.0f);
    for (int64_t i = 0; i < c.a.Dv; ++i) EXPECT_EQ(o.dv[static_cast<size_t>(r * c.v_ld + i)], 0.0f);
  }
  expect_near(o, run(c, Which::kReference), 4e-6, "partly masked");
}

TEST(Attention, HugeScores) {
  const int32_t q_offsets[] = {0, 1}, k_offsets[] = {0, 3};
  const Attention a = one_head(q_offsets, k_offsets, 1, 1.0f);
  const Floats q{1}, k{1e30f, -1e30f, 0}, v{3, 5, 7}, dout{2};
  Floats out(1), logsumexp(1), weights(3), dq(1), dk(3), dv(3);
  attention(a, {{q.data(), 1}, {k.data(), 1}, {v.data(), 1}, out.data(), 1, logsumexp.data()});
  EXPECT_EQ(out[0], 3.0f);
  attention_weights(a, {{q.data(), 1}, {k.data(), 1}, 0, 0, 0, 1, false, weights.data()});
  EXPECT_EQ(weights, (Floats{1, 0, 0}));
  attention_backward(a, {{q.data(), 1}, {k.data(), 1}, {v.data(), 1}, {out.data(), 1}, {dout.data(), 1}, logsumexp.data(),
                         {dq.data(), 1, false}, {dk.data(), 1, false}, {dv.data(), 1, false}});
  EXPECT_EQ(dv, (Floats{2, 0, 0}));
  EXPECT_EQ(dk, (Floats{0, 0, 0}));
}

TEST(Attention, NaNIsNotHidden) {
  Case c({20}, {20}, {1, 1, 16, 16}, 61);
  c.q[static_cast<size_t>(4 * c.q_ld)] = std::numeric_limits<float>::quiet_NaN();
  const Outputs o = run(c, Which::kFast);
  for (int64_t r = 0; r < 20; ++r) EXPECT_EQ(std::isnan(o.out[static_cast<size_t>(r * 16)]), r == 4) << r;
}

TEST(Attention, WeightsAreThoseOfTheRun) {
  for (uint64_t number : {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13}) {
    auto c = random_case(4000 + number, 150);
    const Attention& a = c->a;
    const Outputs o = run(*c, Which::kFast);
    for (int64_t s = 0; s < a.sequences; ++s) {
      const int64_t head = static_cast<int64_t>(number) % a.heads, first = c->nq(s) / 3, rows = c->nq(s) - first;
      Floats weights(static_cast<size_t>(rows * c->nk(s)), 9.0f), scores = weights;
      attention_weights(a, {c->heads_q(), c->heads_k(), s, head, first, rows, true, weights.data(), scores.data()});
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = c->q_offsets[static_cast<size_t>(s)] + first + i;
        for (int64_t d = 0; d < a.Dv; ++d) {
          double sum = 0, total = 0;
          for (int64_t j = 0; j < c->nk(s); ++j) {
            const int64_t kv = head / (a.heads / a.kv_heads);
            const float* value = &c->v[static_cast<size_t>((c->k_offsets[static_cast<size_t>(s)] + j) * c->v_ld + kv * a.Dv)];
            sum += static_cast<double>(weights[static_cast<size_t>(i * c->nk(s) + j)]) * value[d];
            total += std::exp(static_cast<double>(scores[static_cast<size_t>(i * c->nk(s) + j)]));
          }
          EXPECT_NEAR(o.out[static_cast<size_t>(row * c->out_ld() + head * a.Dv + d)], sum, 1e-5);
          const float logsum = o.logsumexp[static_cast<size_t>(row * a.heads + head)];
          if (total == 0) continue;
          EXPECT_NEAR(logsum, std::log2(total), 1e-4);
        }
      }
    }
  }
}

TEST(Attention, GradientsThatAreNotWanted) {
  Case c({70, 9}, {70, 9}, {2, 2, 16, 16}, 71);
  const Outputs all = run(c, Which::kFast);
  for (int which = 0; which < 3; ++which) {
    Floats got[3] = {Floats(all.dq.size(), 0.5f), Floats(all.dk.size(), 0.5f), Floats(all.dv.size(), 0.5f)};
    const auto out_of = [&](int i, int64_t ld) { return HeadsOut{i == which ? got[i].data() : nullptr, ld, false}; };
    attention_backward(c.a, {c.heads_q(), c.heads_k(), c.heads_v(), {all.out.data(), c.out_ld()}, {c.dout.data(), c.out_ld()},
                             all.logsumexp.data(), out_of(0, c.q_ld), out_of(1, c.k_ld), out_of(2, c.v_ld)});
    EXPECT_TRUE(same_bits(got[which], which == 0 ? all.dq : which == 1 ? all.dk : all.dv)) << which;
  }
}

TEST(Attention, DropoutDropsItsShare) {
  Case c({100}, {100}, {2, 2, 8, 8}, 81);
  c.a.dropout = {0.1f, 4};
  int64_t dropped = 0;
  for (int64_t head = 0; head < 2; ++head) {
    Floats weights(100 * 100), plain(100 * 100);
    attention_weights(c.a, {c.heads_q(), c.heads_k(), 0, head, 0, 100, true, weights.data()});
    attention_weights(c.a, {c.heads_q(), c.heads_k(), 0, head, 0, 100, false, plain.data()});
    for (size_t i = 0; i < weights.size(); ++i) {
      dropped += weights[i] == 0;
      const float factor = weights[i] == 0 ? 0 : 1 / 0.9f;
      EXPECT_NEAR(weights[i], plain[i] * factor, 1e-6);
    }
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 20000, 0.1, 0.01);
}

TEST(Attention, RefusesHeadsThatDoNotShare) {
  Case c({2}, {2}, {3, 2, 4, 4}, 91);
  Floats out(100);
  try {
    attention(c.a, {c.heads_q(), c.heads_k(), c.heads_v(), out.data(), c.out_ld(), nullptr});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[attention] 3 heads cannot share 2 key heads: expected a multiple");
  }
}

}  // namespace
}  // namespace heed::kernels
