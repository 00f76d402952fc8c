// The order of operations and the distribution of draws, against plain loops.
#include "heed/decode/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heed/base/random.h"

namespace heed::decode {
namespace {

std::vector<float> random_logits(uint64_t seed, size_t n) {
  Random random(seed);
  std::vector<float> logits(n);
  for (float& x : logits) x = 2 * random.normal();
  return logits;
}

// What each id is drawn with, step by step as SamplingConfig says.
std::vector<double> expected(const std::vector<float>& logits, const SamplingConfig& c) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  std::vector<double> p(logits.size());
  const auto normalise = [&] {
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= total;
  };
  for (size_t i = 0; i < p.size(); ++i) p[i] = std::exp(double{logits[i] - logits[order[0]]} / c.temperature);
  normalise();
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (c.top_k > 0 && rank >= static_cast<size_t>(c.top_k)) p[order[rank]] = 0;
  }
  normalise();
  double held = 0;
  for (const size_t id : order) {
    const double own = p[id];
    if (held >= c.top_p) p[id] = 0;
    held += own;
  }
  normalise();
  const double least = c.min_p * p[order[0]];
  for (double& x : p) x = x < least ? 0 : x;
  normalise();
  return p;
}

TEST(Sampling, DrawsAsOftenAsTheDistributionSays) {
  const std::vector<float> logits = random_logits(1, 30);
  for (const SamplingConfig& config :
       {SamplingConfig{}, SamplingConfig{.temperature = 0.5}, SamplingConfig{.temperature = 2, .top_k = 7},
        SamplingConfig{.top_p = 0.7}, SamplingConfig{.min_p = 0.1},
        SamplingConfig{.temperature = 1.5, .top_k = 12, .top_p = 0.8, .min_p = 0.2}}) {
    const std::vector<double> p = expected(logits, config);
    constexpr uint32_t kDraws = 20000;
    std::vector<double> counts(logits.size());
    for (uint32_t i = 0; i < kDraws; ++i) {
      counts[static_cast<size_t>(sample_token(logits, config, {7, 0, 0, i}).id)] += 1.0 / kDraws;
    }
    for (size_t id = 0; id < p.size(); ++id) {
      EXPECT_NEAR(counts[id], p[id], 5 * std::sqrt(p[id] / kDraws) + 1e-9) << id;
    }
  }
}

TEST(Sampling, EveryPartOfTheKeyCounts) {
  const std::vector<float> logits(1000, 0.0f);
  const auto drawn = [&](const SampleKey& key) { return sample_token(logits, {}, key).id; };
  EXPECT_EQ(drawn({1, 2, 3, 4}), drawn({1, 2, 3, 4}));
  for (const SampleKey& other : {SampleKey{2, 2, 3, 4}, {1, 3, 3, 4}, {1, 2, 4, 4}, {1, 2, 3, 5}}) {
    EXPECT_NE(drawn({1, 2, 3, 4}), drawn(other));
  }
}

TEST(Sampling, ZeroTemperatureIsTheLikeliestAndSmallOnesGoThere) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> logits = random_logits(seed, 300);
    const int32_t best = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    for (const SamplingConfig& c :
         {SamplingConfig{.temperature = 0}, SamplingConfig{.temperature = 1e-6}, SamplingConfig{.top_k = 1},
          SamplingConfig{.top_p = 1e-9}, SamplingConfig{.min_p = 1}}) {
      EXPECT_EQ(sample_token(logits, c, {seed, 1, 2, 3}).id, best);
    }
  }
}

TEST(Sampling, PenaltiesBiasesAndBans) {
  const std::vector<float> logits{2, -1, 0.5f, 3, -2, 1};
  const std::vector<int32_t> prompt{0, 1, 0}, answer{1, 3, 3};
  const auto changed = [&](const SamplingConfig& c) {
    std::vector<float> x = logits;
    change_logits(x, c, {prompt, answer});
    return x;
  };
  using Logits = std::vector<float>;
  EXPECT_EQ(changed({}), logits);
  // Once for each id, in prompt or answer, however often it is there.
  EXPECT_EQ(changed({.repetition_penalty = 2}), (Logits{1, -2, 0.5f, 1.5f, -2, 1}));
  EXPECT_EQ(changed({.presence_penalty = 0.5}), (Logits{2, -1.5f, 0.5f, 2.5f, -2, 1}));
  EXPECT_EQ(changed({.frequency_penalty = 0.5}), (Logits{2, -1.5f, 0.5f, 2, -2, 1}));
  EXPECT_EQ(changed({.presence_penalty = 0.5, .frequency_penalty = 0.5}), (Logits{2, -2, 0.5f, 1.5f, -2, 1}));
  EXPECT_EQ(changed({.ban = {3, 5}, .bias = {{4, 2.5f}, {3, 100.0f}}}),
            (Logits{2, -1, 0.5f, -INFINITY, 0.5f, -INFINITY}));
}

TEST(Sampling, WithoutANumberThereIsNoToken) {
  for (const double temperature : {0.0, 1.0}) {
    for (const std::vector<float>& logits : {std::vector<float>(5, -INFINITY), std::vector<float>(5, NAN),
                                             std::vector<float>{1, NAN, 2}, std::vector<float>{1, INFINITY, 2}}) {
      EXPECT_EQ(sample_token(logits, {.temperature = temperature}, {1, 1, 1, 1}).id, -1);
    }
  }
  // Ids that are masked are never drawn.
  const std::vector<float> one{-INFINITY, 0.5f, -INFINITY};
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(sample_token(one, {.temperature = 1e6}, {1, 1, 1, i}).id, 1);
}

}  // namespace
}  // namespace heed::decode
