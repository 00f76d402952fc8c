#include "heed/kernels/attention.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/kernels/attention_testing.h"
#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

TEST(Attention, MatchesReferenceOnRandomCases) {
  for (uint64_t number = 0; number < 150; ++number) {
    const auto c = random_case(number, number % 6 == 0 ? 150 : number % 2 ? 40 : 17);
    const bool accumulate = number % 2;
    expect_near(run(*c, Which::kFast, accumulate), run(*c, Which::kReference, accumulate), 4e-6,
                "case " + std::to_string(number));
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

// More keys than a thread copies at a time, with every kind of bias.
TEST(Attention, MatchesReferenceOverSeveralPanelsOfKeys) {
  for (const bool causal : {false, true}) {
    Case c({20, 140}, {4200, 2100}, {2, 1, 8, 20}, 6);
    Random random(4);
    c.a.causal = causal;
    c.set_relative(random);
    c.set_dropout(random);
    for (const bool accumulate : {false, true}) {
      expect_near(run(c, Which::kFast, accumulate), run(c, Which::kReference, accumulate), 1e-5,
                  causal ? "causal" : "full");
    }
  }
}

// Eight threads together stay below 64 MB beside what the caller holds.
TEST(Attention, WorkingMemoryIsBounded) {
  Case c({300}, {16384}, {1, 1, 64, 64}, 7);
  c.set_slopes();
  set_num_threads(1);
  release_unused();
  reset_peak();
  const int64_t before = pool_stats().peak_used;
  run(c, Which::kFast);
  EXPECT_LT(pool_stats().peak_used - before, int64_t{8} << 20);
  EXPECT_LT(pool_stats().bytes_held - before, int64_t{8} << 20);
  set_num_threads(0);
}

// Tables of relative biases as well, for one long sequence beside many short ones: 0.2 MB of them rather than 268.
TEST(Attention, WorkingMemoryIsBoundedForMixedLengths) {
  std::vector<int> lengths(2049, 1);
  lengths[1000] = 2048;
  Case c(lengths, lengths, {8, 8, 16, 16}, 8);
  Random random(9);
  c.a.relative_first = -2047, c.a.relative_count = 4095;
  c.relative = random_floats(random, c.a.relative_count * c.a.heads);
  c.a.relative = c.relative.data();
  set_num_threads(1);
  release_unused();
  reset_peak();
  const int64_t before = pool_stats().peak_used;
  run(c, Which::kFast);
  EXPECT_LT(pool_stats().peak_used - before, int64_t{8} << 20);
  set_num_threads(0);
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

TEST(Attention, BaselineMatchesReference) {
  // Nothing but the baseline is left.
  hwy::SetSupportedTargetsForTest(int64_t{1} << 62);
  for (uint64_t number = 0; number < 20; ++number) {
    const auto c = random_case(3000 + number, 40);
    expect_near(run(*c, Which::kFast), run(*c, Which::kReference), 6e-6, "case " + std::to_string(number));
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Attention, FullyMaskedRowsGiveZeros) {
  Case c({4, 6}, {4, 3}, {2, 1, 8, 8}, 51);
  c.a.causal = true;  // the first three queries of the second sequence come before its first key
  c.key_lengths = {0, 3};
  c.a.key_lengths = c.key_lengths.data();
  const Outputs o = run(c, Which::kFast);
  const int64_t zero_rows = 7;
  for (int64_t i = 0; i < zero_rows * c.out_ld(); ++i) EXPECT_EQ(o.out[static_cast<size_t>(i)], 0.0f);
  for (int64_t i = 0; i < zero_rows * 2; ++i) EXPECT_EQ(o.softmax[static_cast<size_t>(i)].sum, 0.0f);
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
  SoftmaxRow softmax[1];
  Floats out(1), weights(3), dq(1), dk(3), dv(3);
  attention(a, {{q.data(), 1}, {k.data(), 1}, {v.data(), 1}, out.data(), 1, softmax});
  EXPECT_EQ(out[0], 3.0f);
  attention_weights(a, {{q.data(), 1}, {k.data(), 1}, 0, 0, 0, 1, false, weights.data()});
  EXPECT_EQ(weights, (Floats{1, 0, 0}));
  attention_backward(a, {{q.data(), 1},
                         {k.data(), 1},
                         {v.data(), 1},
                         {out.data(), 1},
                         {dout.data(), 1},
                         softmax,
                         {dq.data(), 1, false},
                         {dk.data(), 1, false},
                         {dv.data(), 1, false}});
  EXPECT_EQ(dv, (Floats{2, 0, 0}));
  EXPECT_EQ(dk, (Floats{0, 0, 0}));
}

// Every query and key of one head are the same number, so that all scores tie.
TEST(Attention, TiesOfAnySizeShareTheWeight) {
  for (int n : {3, 300}) {
    for (float x : {1e1f, 1e3f, 1e10f, 1e15f, 1.5e19f, 1.6e19f, 1e25f}) {
      for (float sign : {1.0f, -1.0f}) {
        Case c({n}, {n}, {1, 1, 1, 1}, 3);
        c.q.assign(c.q.size(), x);
        c.k.assign(c.k.size(), x * sign);
        const Outputs o = run(c, Which::kFast);
        Floats weights(static_cast<size_t>(n * n));
        attention_weights(c.a, {c.heads_q(), c.heads_k(), 0, 0, 0, n, false, weights.data()});
        for (float w : weights) ASSERT_NEAR(w, 1.0 / n, 1e-6) << x << " " << sign;
        double mean = 0, dv = 0;
        for (int j = 0; j < n; ++j)
          mean += c.v[static_cast<size_t>(j * c.v_ld)] / n, dv += c.dout[static_cast<size_t>(j)] / n;
        for (int i = 0; i < n; ++i) {
          ASSERT_NEAR(o.out[static_cast<size_t>(i)], mean, 1e-5) << x << " " << sign;
          ASSERT_NEAR(o.dv[static_cast<size_t>(i * c.v_ld)], dv, 1e-5) << x << " " << sign;
        }
      }
    }
  }
}

TEST(Attention, OnlyMinusInfinityMasks) {
  constexpr float kMost = std::numeric_limits<float>::max();
  for (float value : {-100.0f, -1e30f, -2.3e38f, -2.4e38f, -kMost, kMost, -kInf}) {
    for (int which = 0; which < 6; ++which) {
      Random random(7);
      Case c({70}, {140}, {2, 1, 8, 8}, 3);
      c.set_mask(random, true);
      // Everywhere, in some rows, beside keys that are masked, beside keys that are not.
      for (size_t i = 0; i < c.add.size(); ++i) {
        const bool all = which % 3 == 0 || (which % 3 == 1 && i % 3 == 0),
                   row = i / static_cast<size_t>(c.a.mask.stride_row) % 2;
        if (all || row) c.add[i] = std::isinf(c.add[i]) && which % 3 == 2 ? -kInf : value;
      }
      c.a.causal = which >= 3;
      if (which >= 3) c.set_slopes(), c.set_relative(random);
      const std::string what = std::to_string(value) + " " + std::to_string(which);
      expect_near(run(c, Which::kFast), run(c, Which::kReference), 1e-5, what);
    }
  }
}

// A row that leaves the range of floats is computed with care, which must not be seen in its neighbours. Where a score is
// one product, it is the reference's to the end of the range; a sum may leave it on the way.
TEST(Attention, OverflowStaysInItsRow) {
  for (const bool masked : {false, true}) {
    for (const bool one_product : {false, true}) {
      Random random(5);
      Case c({40}, {300}, {1, 1, 16, 16}, 3);
      c.a.causal = true;
      c.set_slopes();
      if (masked) c.set_mask(random, true);
      const Outputs before = run(c, Which::kFast);
      float* q = &c.q[static_cast<size_t>(7 * c.q_ld)];
      for (int64_t i = 0; i < c.a.D; ++i) q[i] = one_product ? 0 : q[i] * 1e38f;
      if (one_product)
        q[0] = 3e38f, c.k[0] = c.k[static_cast<size_t>(5 * c.k_ld)] = 4, c.k[static_cast<size_t>(9 * c.k_ld)] = -4;
      const Outputs after = run(c, Which::kFast), expected = run(c, Which::kReference);
      for (const float x : rows_of(after.out, c.out_ld(), 7, 1)) EXPECT_TRUE(std::isfinite(x));
      for (const float x : rows_of(after.dq, c.q_ld, 7, 1)) EXPECT_TRUE(std::isfinite(x));
      if (one_product) {
        expect_near(after.out, expected.out, 1e-5, "out");
        expect_near(after.dq, expected.dq, 1e-5, "dq");
        continue;
      }
      for (int64_t r = 0; r < 40; ++r) {
        const bool same = same_bits(rows_of(before.out, c.out_ld(), r, 1), rows_of(after.out, c.out_ld(), r, 1)) &&
                          same_bits(rows_of(before.dq, c.q_ld, r, 1), rows_of(after.dq, c.q_ld, r, 1));
        EXPECT_EQ(same, r != 7) << r;
      }
    }
  }
}

// A product that is +inf counts as the largest float before a bias is added, here and in the backward.
TEST(Attention, OverflowMeetsItsBias) {
  struct Biases {
    float first, second;
  };
  for (const bool by_mask : {true, false}) {
    for (const Biases& bias : {Biases{-kInf, 0}, {0, -kInf}, {-1e38f, -1e38f}, {-1e38f, -kInf}, {-2e38f, -1e38f}}) {
      for (const Biases& key : {Biases{1e20f, 0}, {0, 1e20f}, {1e20f, 1e20f}}) {
        Case c({1}, {2}, {1, 1, 1, 1});
        c.q[0] = 1e20f;
        c.k[0] = key.first, c.k[static_cast<size_t>(c.k_ld)] = key.second;
        Floats& biases = by_mask ? c.add : c.relative;
        biases = {bias.first, bias.second};
        if (by_mask) {
          c.a.mask = {.keep = nullptr, .add = c.add.data()};
        } else {
          c.a.relative = c.relative.data(), c.a.relative_first = -1, c.a.relative_count = 2;
        }
        const Outputs found = run(c, Which::kFast), expected = run(c, Which::kReference);
        const std::string what = fmt::format("{} {} {} {} {}", by_mask, bias.first, bias.second, key.first, key.second);
        expect_near(found.out, expected.out, 1e-5, what);
        expect_near(found.dv, expected.dv, 1e-5, what);
        // What cancels was multiplied with 1e20.
        for (size_t d = 0; d < found.dq.size(); ++d) ASSERT_NEAR(found.dq[d], expected.dq[d], 1e15) << what;
        for (size_t d = 0; d < found.dk.size(); ++d) ASSERT_NEAR(found.dk[d], expected.dk[d], 1e15) << what;
      }
    }
  }
}

TEST(Attention, NaNIsNotHidden) {
  testing::on_every_target([] {
    for (int biases = 0; biases < 3; ++biases) {
      Case c({20}, {20}, {1, 1, 16, 16}, 61);
      c.add.assign(400, -1.0f);
      if (biases == 1) c.set_slopes();
      if (biases == 2) c.a.mask = {.keep = nullptr, .add = c.add.data(), .stride_row = 20};
      c.q[static_cast<size_t>(4 * c.q_ld)] = std::numeric_limits<float>::quiet_NaN();
      const Outputs o = run(c, Which::kFast);
      for (int64_t r = 0; r < 20; ++r) EXPECT_EQ(std::isnan(o.out[static_cast<size_t>(r * 16)]), r == 4) << r;
    }
  });
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
            const float* value =
                &c->v[static_cast<size_t>((c->k_offsets[static_cast<size_t>(s)] + j) * c->v_ld + kv * a.Dv)];
            sum += static_cast<double>(weights[static_cast<size_t>(i * c->nk(s) + j)]) * value[d];
            total += std::exp(static_cast<double>(scores[static_cast<size_t>(i * c->nk(s) + j)]));
          }
          EXPECT_NEAR(o.out[static_cast<size_t>(row * c->out_ld() + head * a.Dv + d)], sum, 1e-5);
          const float logsum = logsumexp(o)[static_cast<size_t>(row * a.heads + head)];
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
    attention_backward(c.a, {c.heads_q(),
                             c.heads_k(),
                             c.heads_v(),
                             {all.out.data(), c.out_ld()},
                             {c.dout.data(), c.out_ld()},
                             all.softmax.data(),
                             out_of(0, c.q_ld),
                             out_of(1, c.k_ld),
                             out_of(2, c.v_ld)});
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
