#include "heed/kernels/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "heed/base/random.h"
#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using testing::Floats;
using testing::random_floats;

struct Case {
  int64_t T, C, V;
  bool tied = false, with_bias = false, ignored = false;
  float smoothing = 0;
  bool gradients = true;
  int64_t gap = 0;
  bool accumulate = true;
  float agreement = 0;

  struct Result {
    Floats loss, nll, dx, dweight, dbias;
    Floats all() const {
      Floats joined;
      for (const Floats* part : {&loss, &nll, &dx, &dweight, &dbias})
        joined.insert(joined.end(), part->begin(), part->end());
      return joined;
    }
  };

  template <class F>
  Result run(F&& vocabulary) const {
    const int64_t ld = (tied ? C : V) + gap, weights = (tied ? V : C) * ld;
    const Floats x = random_floats(T * C, 1), weight = random_floats(weights, 2, 0.5f), bias = random_floats(V, 3);
    std::vector<int32_t> targets;
    Random random(5);
    for (int64_t t = 0; t < T; ++t) {
      const bool ignore = ignored && random.below(3) == 0;
      targets.push_back(ignore ? -1 : static_cast<int32_t>(random.below(static_cast<uint64_t>(V))));
    }
    for (int64_t t = T / 2; t < T && agreement > 0; ++t)  // the same tokens again
      targets[static_cast<size_t>(t)] = targets[static_cast<size_t>(t - T / 2)];
    Result r{Floats(static_cast<size_t>(T), 7.0f), Floats(static_cast<size_t>(T), 7.0f),
             Floats(static_cast<size_t>(T * C), 7.0f), random_floats(weights, 6), random_floats(V, 7)};
    VocabularyLoss l{};
    l.T = T, l.C = C, l.V = V;
    l.x = x.data(), l.weight = {weight.data(), ld, tied}, l.bias = with_bias ? bias.data() : nullptr;
    l.targets = targets.data(), l.smoothing = smoothing, l.agreement = agreement;
    l.row_loss = r.loss.data(), l.row_nll = r.nll.data(), l.grad_scale = 0.25f;
    if (gradients) {
      l.dx = r.dx.data(), l.dweight = r.dweight.data();
      l.dbias = with_bias ? r.dbias.data() : nullptr;
    }
    l.accumulate = accumulate;
    vocabulary(l);
    return r;
  }
};

void check_one(const Case& c) {
  SCOPED_TRACE(::testing::Message() << c.T << "x" << c.C << "x" << c.V << " tied " << c.tied << " bias " << c.with_bias
                                    << " ignored " << c.ignored << " smoothing " << c.smoothing << " accumulate "
                                    << c.accumulate << " agreement " << c.agreement);
  const Case::Result expected = c.run(vocabulary_loss_reference);
  testing::on_every_target([&] {
    const Case::Result found = c.run(vocabulary_loss);
    testing::expect_close(found.loss, expected.loss, 3e-6);
    testing::expect_close(found.nll, expected.nll, 3e-6);
    testing::expect_close(found.dx, expected.dx, 2e-6);
    testing::expect_close(found.dweight, expected.dweight, 4e-6);
    testing::expect_close(found.dbias, expected.dbias, 4e-6);
  });
}

void check(Case c) {
  for (const bool accumulate : {true, false}) {
    c.accumulate = accumulate;
    check_one(c);
  }
}

TEST(VocabularyLoss, EqualsTheReference) {
  check({0, 4, 5});
  check({1, 1, 1});
  check({1, 3, 2, true, true});
  check({5, 8, 17, false, true, true});
  check({70, 16, 100, true, false, true, 0.1f});
  check({33, 24, 1100, false, true, true, 0.1f, true, 3});
  check({33, 24, 1100, true, true, true, 0.3f, true, 3});
  check({20, 12, 130, true, true, false, 0.1f, false});
}

TEST(VocabularyLoss, GoesOverSeveralBlocksOfRows) { check({1100, 3, 9, true, true, true, 0.1f}); }

TEST(VocabularyLoss, AgreementEqualsTheReference) {
  check({.T = 0, .C = 4, .V = 5, .agreement = 1});
  check({.T = 2, .C = 1, .V = 1, .agreement = 1});
  check({.T = 2, .C = 3, .V = 2, .with_bias = true, .agreement = 5});
  check({.T = 6, .C = 8, .V = 17, .tied = true, .ignored = true, .agreement = 0.5f});
  check({.T = 66, .C = 24, .V = 1100, .with_bias = true, .ignored = true, .smoothing = 0.1f, .gap = 3, .agreement = 2});
  check({.T = 20, .C = 12, .V = 130, .tied = true, .smoothing = 0.1f, .gradients = false, .agreement = 2});
  check(
      {.T = 2200, .C = 3, .V = 9, .tied = true, .with_bias = true, .ignored = true, .smoothing = 0.1f, .agreement = 5});
}

// Two rows that agree, peaked over many words: nothing is paid and nothing is pulled, to the bit. Exchanged rows have
// exchanged gradients.
TEST(VocabularyLoss, AgreementIsTheSameFromBothSides) {
  constexpr int64_t V = 5003;
  Floats one = random_floats(V, 8, 0.5f), other = random_floats(V, 9, 4);
  one[77] = 17;  // e^-17 each for the others
  const std::vector<int32_t> targets{3, 3};
  const Floats x{1, 0, 0, 1};
  struct Both {
    Floats loss, dlogits;
  };
  const auto run = [&](const Floats& a, const Floats& b, float agreement) {
    Floats weight = a;
    weight.insert(weight.end(), b.begin(), b.end());
    Both r{Floats(2), Floats(2 * V)};
    VocabularyLoss l{};
    l.T = 2, l.C = 2, l.V = V, l.x = x.data(), l.weight = {weight.data(), V}, l.targets = targets.data();
    l.row_loss = r.loss.data(), l.agreement = agreement, l.dweight = r.dlogits.data();
    vocabulary_loss(l);
    return r;
  };
  testing::on_every_target([&] {
    const Both free = run(one, one, 0), agreeing = run(one, one, 5);
    EXPECT_EQ(agreeing.loss, free.loss);
    EXPECT_EQ(agreeing.dlogits, free.dlogits);
    const Both here = run(one, other, 5), there = run(other, one, 5);
    EXPECT_EQ(here.loss[0], there.loss[1]);
    EXPECT_TRUE(std::equal(here.dlogits.begin(), here.dlogits.begin() + V, there.dlogits.begin() + V));
    EXPECT_TRUE(std::equal(there.dlogits.begin(), there.dlogits.begin() + V, here.dlogits.begin() + V));
    Floats far = one, moved = other;
    for (float& z : far) z += 16384;  // what is added to a whole row changes nothing
    for (float& z : far) z -= 16384;
    for (float& z : moved) z = std::round(z * 256) / 256;
    const Both near = run(far, moved, 5);
    for (float& z : moved) z += 16384;
    const Both distant = run(far, moved, 5);
    testing::expect_close(distant.dlogits, near.dlogits, 1e-6);
    for (const auto& [a, b] : {std::pair(1e30f, 1e30f), std::pair(1e30f, -1e30f)}) {
      Floats huge(V, -1e30f), twin(V, -1e30f);
      huge[3] = a, huge[5] = -a, twin[3] = b, twin[5] = -b;
      const Both r = run(huge, twin, 1);
      for (const float z : r.dlogits) ASSERT_TRUE(std::isfinite(z));
      for (const float z : r.loss) EXPECT_TRUE(std::isfinite(z));
    }
    Floats broken = one;
    for (const uint32_t nan : {0x7FC00000u, 0x7FC00001u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
      broken[9] = std::bit_cast<float>(nan);
      for (const float z : run(one, broken, 1).loss) EXPECT_TRUE(std::isnan(z)) << z;
    }
  });
}

// Of p = (0.7, 0.2, 0.1) and q = (0.2, 0.2, 0.6): half the sum of both divergences is 0.5 (0.5 log 3.5 + 0.5 log 6).
TEST(VocabularyLoss, AgreementOfKnownDistributions) {
  const Floats x{1, 0, 0, 1};  // a row of the weights each
  Floats weight;
  for (const float p : {0.7f, 0.2f, 0.1f, 0.2f, 0.2f, 0.6f}) weight.push_back(std::log(p));
  const std::vector<int32_t> targets{0, 0};
  Floats loss(2), nll(2);
  VocabularyLoss l{};
  l.T = 2, l.C = 2, l.V = 3, l.x = x.data(), l.weight = {weight.data(), 3}, l.targets = targets.data();
  l.row_loss = loss.data(), l.row_nll = nll.data(), l.agreement = 3;
  vocabulary_loss(l);
  const double distance = 0.25 * (std::log(3.5) + std::log(6.0));
  EXPECT_NEAR(loss[0], -std::log(0.7) + 1.5 * distance, 1e-6);
  EXPECT_NEAR(loss[1], -std::log(0.2) + 1.5 * distance, 1e-6);
  EXPECT_NEAR(nll[1], -std::log(0.2), 1e-6);
}

TEST(VocabularyLoss, BitsDoNotDependOnThreadsOrTargets) {
  const Case c{300, 32, 400, true, true, true, 0.1f};
  testing::expect_same_everywhere([&] { return c.run(vocabulary_loss).all(); });
  Case agreeing = c;
  agreeing.agreement = 5;
  testing::expect_same_everywhere([&] { return agreeing.run(vocabulary_loss).all(); });
}

// Every product is one of numbers rounded to bf16; softmax, loss and the gradient of the bias stay f32. Where one
// row alone counts, the gradient of the bias is that of its logits.
TEST(VocabularyLoss, Bf16RoundsItsProducts) {
  constexpr int64_t T = 5, C = 24, V = 130;
  const Floats x = random_floats(T * C, 1), weight = random_floats(V * C, 2, 0.5f), bias = random_floats(V, 3);
  testing::on_every_target([&] {
    for (int32_t t = 0; t < T; ++t) {
      std::vector<int32_t> targets(T, -1);
      targets[static_cast<size_t>(t)] = 7 * t;
      Floats loss(T), nll(T), dx(T * C), dweight(V * C), dlogits(V);
      VocabularyLoss l{};
      l.T = T, l.C = C, l.V = V;
      l.x = x.data(), l.weight = {weight.data(), C, true}, l.bias = bias.data(), l.targets = targets.data();
      l.precision = Precision::kBf16, l.accumulate = false;
      l.row_loss = loss.data(), l.row_nll = nll.data();
      l.dx = dx.data(), l.dweight = dweight.data(), l.dbias = dlogits.data();
      vocabulary_loss(l);

      const auto target = static_cast<size_t>(targets[static_cast<size_t>(t)]);
      const float* row = x.data() + t * C;
      Floats logits(V), expected_dx(C), expected_dweight(V * C);
      Gemm g{1, V, C, {row, C}, {weight.data(), C, true}, logits.data(), V};
      g.bias = bias.data(), g.precision = Precision::kBf16;
      gemm_reference(g);
      double total = 0;
      for (const float z : logits) total += std::exp(double{z});
      EXPECT_NEAR(nll[static_cast<size_t>(t)], std::log(total) - logits[target], 3e-6);
      for (size_t v = 0; v < dlogits.size(); ++v) {
        const double wanted = v == target ? 1 : 0;
        ASSERT_NEAR(dlogits[v], std::exp(double{logits[v]}) / total - wanted, 1e-6);
      }
      g = {1, C, V, {dlogits.data(), V}, {weight.data(), C}, expected_dx.data(), C};
      g.precision = Precision::kBf16;
      gemm_reference(g);
      testing::expect_close(Floats(dx.begin() + t * C, dx.begin() + (t + 1) * C), expected_dx, 2e-6);
      g = {V, C, 1, {dlogits.data(), V, true}, {row, C}, expected_dweight.data(), C};
      g.precision = Precision::kBf16;
      gemm_reference(g);
      testing::expect_close(dweight, expected_dweight, 2e-6);
    }
  });
}

// x is one feature of value 1, so that the weights are the logits.
struct Row {
  float loss = 0, nll = 0;
  Floats dlogits;
};
Row row_of(Floats logits, int32_t target, float smoothing = 0) {
  const float one = 1;
  Row r;
  r.dlogits.resize(logits.size());
  VocabularyLoss l{};
  l.T = 1, l.C = 1, l.V = static_cast<int64_t>(logits.size());
  l.x = &one, l.weight = {logits.data(), l.V}, l.targets = &target, l.smoothing = smoothing;
  l.row_loss = &r.loss, l.row_nll = &r.nll, l.dweight = r.dlogits.data();
  vocabulary_loss(l);
  return r;
}

TEST(VocabularyLoss, OfSeventyPercentIsKnown) {
  const Row r = row_of({std::log(0.7f), std::log(0.2f), std::log(0.1f)}, 0);
  EXPECT_NEAR(r.loss, 0.356675, 1e-6);
  EXPECT_NEAR(r.nll, 0.356675, 1e-6);
  EXPECT_NEAR(r.dlogits[0], -0.3, 1e-6);
  EXPECT_NEAR(r.dlogits[1], 0.2, 1e-6);
}

TEST(VocabularyLoss, SmoothingSpreadsOverTheVocabulary) {
  const Row r = row_of({std::log(0.7f), std::log(0.2f), std::log(0.1f)}, 0, 0.3f);
  EXPECT_NEAR(r.nll, 0.356675, 1e-6);
  EXPECT_NEAR(r.loss, 0.7 * 0.356675 - 0.1 * (std::log(0.7) + std::log(0.2) + std::log(0.1)), 1e-6);
  EXPECT_NEAR(r.dlogits[0], 0.7 - 0.8, 1e-6);
  EXPECT_NEAR(r.dlogits[2], 0.1 - 0.1, 1e-6);
}

TEST(VocabularyLoss, HugeLogitsStayFinite) {
  const Row r = row_of({1e30f, -1e30f, 1e30f}, 0);
  EXPECT_NEAR(r.loss, std::log(2.0), 1e-6);
  EXPECT_NEAR(r.dlogits[0], -0.5, 1e-6);
  EXPECT_EQ(r.dlogits[1], 0.0f);
  EXPECT_NEAR(r.dlogits[2], 0.5, 1e-6);
  const Row wrong = row_of({1e30f, -1e30f}, 1, 0.1f);
  EXPECT_TRUE(std::isfinite(wrong.loss));
  EXPECT_NEAR(wrong.nll / 2e30, 1.0, 1e-6);
}

TEST(VocabularyLoss, IgnoredRowsLeaveNothing) {
  Case c{6, 5, 40, true, true, true, 0.1f};
  const Case::Result r = c.run(vocabulary_loss);
  int ignored = 0;
  for (int64_t t = 0; t < c.T; ++t) {
    if (r.nll[static_cast<size_t>(t)] != 0) continue;
    ++ignored;
    EXPECT_EQ(r.loss[static_cast<size_t>(t)], 0.0f);
    for (int64_t i = 0; i < c.C; ++i) EXPECT_EQ(r.dx[static_cast<size_t>(t * c.C + i)], 0.0f);
  }
  EXPECT_GT(ignored, 0);
}

}  // namespace
}  // namespace heed::kernels
