// What must be equal to the bit.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "heed/base/threads.h"
#include "heed/kernels/attention_testing.h"

namespace heed::kernels {
namespace {

TEST(Attention, SameBitsWithAnyNumberOfThreads) {
  for (uint64_t number = 0; number < 12; ++number) {
    const auto c = random_case(1000 + number, 150);
    set_num_threads(1);
    const Outputs one = run(*c, Which::kFast);
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      expect_same_bits(one, run(*c, Which::kFast),
                       std::to_string(threads) + " threads, case " + std::to_string(number));
    }
  }
  // One head alone: more threads than heads cut its work by queries and by keys.
  Case c({600}, {700}, {2, 1, 32, 32}, 17);
  c.a.causal = true;
  set_num_threads(1);
  const Outputs one = run(c, Which::kFast);
  set_num_threads(3);
  expect_same_bits(one, run(c, Which::kFast), "few heads");
  // The same with keys in more than one panel.
  Case panels({300}, {2200}, {1, 1, 16, 16}, 18);
  panels.a.causal = true;
  set_num_threads(1);
  const Outputs alone = run(panels, Which::kFast);
  set_num_threads(3);
  expect_same_bits(alone, run(panels, Which::kFast), "panels");
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

// Not even NaN gets back in time: outputs and gradients of queries know nothing of later keys and values, gradients of
// keys and values nothing of earlier queries.
TEST(Attention, WhatIsNotFiniteStaysWhereItIsSeen) {
  const std::vector<std::vector<int64_t>> sizes{{2, 1, 16, 16}, {1, 1, 64, 64}, {2, 2, 20, 40}, {1, 1, 3, 80}};
  for (const float poison : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    for (const int n : {5, 40, 200}) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        const auto fresh = [&] {
          auto c = std::make_unique<Case>(std::vector<int>{n}, std::vector<int>{n}, sizes[i], 33);
          c->a.causal = true;
          if (i % 2) c->a.dropout = {0.2f, 5};
          return c;
        };
        const std::string what =
            std::to_string(poison) + ", " + std::to_string(n) + " rows, sizes " + std::to_string(i);
        const Outputs clean = run(*fresh(), Which::kFast);
        const int64_t cut = n / 2 + static_cast<int64_t>(i % 2);
        const auto late = fresh(), early = fresh();
        std::fill(late->k.begin() + cut * late->k_ld, late->k.end(), poison);
        std::fill(late->v.begin() + cut * late->v_ld, late->v.end(), poison);
        const Outputs future = run(*late, Which::kFast);
        EXPECT_TRUE(same_bits(rows_of(clean.out, late->out_ld(), 0, cut), rows_of(future.out, late->out_ld(), 0, cut)))
            << what;
        EXPECT_TRUE(same_bits(rows_of(clean.dq, late->q_ld, 0, cut), rows_of(future.dq, late->q_ld, 0, cut))) << what;
        EXPECT_FALSE(std::isfinite(future.out.back())) << what;
        std::fill(early->q.begin(), early->q.begin() + cut * early->q_ld, poison);
        std::fill(early->dout.begin(), early->dout.begin() + cut * early->out_ld(), poison);
        const Outputs past = run(*early, Which::kFast);
        const int64_t rest = n - cut;
        EXPECT_TRUE(same_bits(rows_of(clean.dk, early->k_ld, cut, rest), rows_of(past.dk, early->k_ld, cut, rest)))
            << what;
        EXPECT_TRUE(same_bits(rows_of(clean.dv, early->v_ld, cut, rest), rows_of(past.dv, early->v_ld, cut, rest)))
            << what;
        EXPECT_FALSE(std::isfinite(past.dv.front())) << what;
      }
    }
  }
}

// What decoding with a cache relies on: the last rows alone, with the keys so far, equal those of the full run, also where
// keys and values lie in another order.
void expect_rows_alone_as_in_the_full_run(const Case& c, std::initializer_list<int64_t> lengths) {
  const Outputs full = run(c, Which::kFast);
  const int64_t n = c.Tk();
  Floats k(c.k.size()), v(c.v.size());
  std::vector<int32_t> k_rows;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = (i * 7 + 3) % n;  // n is no multiple of 7
    k_rows.push_back(static_cast<int32_t>(to));
    std::copy_n(c.k.begin() + i * c.k_ld, c.k_ld, k.begin() + to * c.k_ld);
    std::copy_n(c.v.begin() + i * c.v_ld, c.v_ld, v.begin() + to * c.v_ld);
  }
  for (int64_t rows : {1, 3, 20}) {
    for (int64_t last : lengths) {
      const int32_t q_offsets[] = {0, static_cast<int32_t>(rows)}, k_offsets[] = {0, static_cast<int32_t>(last)};
      Attention a = c.a;
      a.q_offsets = q_offsets;
      a.k_offsets = k_offsets;
      const Heads q{c.q.data() + (last - rows) * c.q_ld, c.q_ld};
      const Floats expected = rows_of(full.out, c.out_ld(), last - rows, rows);
      Floats out(expected.size());
      attention(a, {q, c.heads_k(), c.heads_v(), out.data(), c.out_ld(), nullptr});
      EXPECT_TRUE(same_bits(out, expected)) << rows << " rows to " << last;
      a.k_rows = k_rows.data();
      attention(a, {q, {k.data(), c.k_ld}, {v.data(), c.v_ld}, out.data(), c.out_ld(), nullptr});
      EXPECT_TRUE(same_bits(out, expected)) << rows << " scattered rows to " << last;
    }
  }
}

TEST(Attention, ARowAloneEqualsTheRowOfTheFullRun) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{4, 2, 24, 32}, {2, 2, 64, 64}, {1, 1, 3, 5}, {2, 1, 17, 80}}) {
    for (const bool slopes : {false, true}) {
      Case c({300}, {300}, sizes, 41);
      c.a.causal = true;
      if (slopes) c.set_slopes();
      expect_rows_alone_as_in_the_full_run(c, {20, 63, 64, 65, 128, 129, 257, 300});
    }
  }
  Case panels({2200}, {2200}, {1, 1, 16, 16}, 42);
  panels.a.causal = true;
  expect_rows_alone_as_in_the_full_run(panels, {2047, 2048, 2049, 2200});
  // Scores and values at the ends of what floats can hold.
  Case far({200}, {200}, {1, 1, 16, 16}, 43);
  far.a.causal = true;
  for (float& x : far.q) x *= 1e19f;
  for (float& x : far.k) x *= 1e19f;
  expect_rows_alone_as_in_the_full_run(far, {20, 128, 200});
  far.v[50 * static_cast<size_t>(far.v_ld)] = kInf;
  expect_rows_alone_as_in_the_full_run(far, {50, 51, 200});
}

}  // namespace
}  // namespace heed::kernels
