#include "heed/nn/positions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "heed/base/error.h"

namespace heed::nn {
namespace {

std::vector<float> table(int64_t length, int64_t dim) {
  std::vector<float> out(static_cast<size_t>(length * dim), 99.0f);
  sinusoidal(out.data(), length, dim);
  return out;
}

TEST(Sinusoidal, GivesThePapersRows) {
  const std::vector<float> pe = table(2, 4);
  const float expected[] = {0, 1, 0, 1, 0.841471f, 0.540302f, 0.010000f, 0.999950f};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(pe[i], expected[i], 5e-7) << i;
}

TEST(Sinusoidal, OddDimEndsWithASine) {
  const std::vector<float> pe = table(3, 5);
  for (int p = 0; p < 3; ++p) {
    for (int c = 0; c < 5; ++c) {
      const double angle = p / std::pow(10000.0, (c / 2) * 2.0 / 5);
      const double expected = c % 2 ? std::cos(angle) : std::sin(angle);
      EXPECT_NEAR(pe[static_cast<size_t>(p * 5 + c)], expected, 1e-7) << p << "," << c;
    }
  }
  EXPECT_EQ(table(1, 1), std::vector<float>{0});
  EXPECT_TRUE(table(0, 3).empty());
}

TEST(Sinusoidal, StaysExactFarOut) {
  const int64_t p = 100000;
  const std::vector<float> pe = table(p + 1, 2);
  EXPECT_FLOAT_EQ(pe[static_cast<size_t>(p * 2)], static_cast<float>(std::sin(100000.0)));
}

TEST(Sinusoidal, ShiftIsOneLinearMapForEveryPosition) {
  const int64_t length = 200, dim = 64;
  const std::vector<float> pe = table(length, dim);
  for (const int64_t k : {1, 7, 100}) {
    const std::vector<Turn> turns = sinusoidal_shift(k, dim);
    ASSERT_EQ(turns.size(), static_cast<size_t>(dim / 2));
    for (int64_t p = 0; p + k < length; ++p) {
      for (int64_t i = 0; i < dim / 2; ++i) {
        const Turn t = turns[static_cast<size_t>(i)];
        const float* from = &pe[static_cast<size_t>(p * dim + 2 * i)];
        const float* to = &pe[static_cast<size_t>((p + k) * dim + 2 * i)];
        EXPECT_NEAR(t.cos_ * from[0] + t.sin_ * from[1], to[0], 2e-7);
        EXPECT_NEAR(-t.sin_ * from[0] + t.cos_ * from[1], to[1], 2e-7);
      }
    }
  }
}

TEST(Alibi, SlopesArePublishedOnes) {
  const std::vector<float> eight = alibi_slopes(8);
  for (size_t h = 0; h < 8; ++h) EXPECT_EQ(eight[h], std::ldexp(1.0f, -static_cast<int>(h) - 1));
  // Twelve heads: eight of 2^-1 .. 2^-8, then 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5.
  const std::vector<float> twelve = alibi_slopes(12);
  ASSERT_EQ(twelve.size(), 12u);
  EXPECT_TRUE(std::equal(eight.begin(), eight.end(), twelve.begin()));
  for (size_t h = 8; h < 12; ++h) EXPECT_FLOAT_EQ(twelve[h], std::exp2(-0.5f - static_cast<float>(h - 8)));
  EXPECT_EQ(alibi_slopes(1), std::vector<float>{std::exp2(-8.0f)});
  EXPECT_THROW(alibi_slopes(0), Error);
}

// Where each bucket starts, as transformers' T5 computes them.
void expect_edges(bool bidirectional, int64_t buckets, int64_t max_distance,
                  const std::vector<std::pair<int64_t, int64_t>>& edges) {
  size_t at = 0;
  for (int64_t distance = -1000; distance <= 1000; ++distance) {
    if (at + 1 < edges.size() && edges[at + 1].first == distance) ++at;
    EXPECT_EQ(t5_bucket(distance, bidirectional, buckets, max_distance), edges[at].second) << distance;
  }
}

TEST(T5, BucketsArePublishedOnes) {
  expect_edges(true, 32, 128, {{-1000, 15}, {-90, 14}, {-63, 13}, {-45, 12}, {-31, 11}, {-22, 10}, {-15, 9}, {-11, 8},
                               {-7, 7},     {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},   {-1, 1},  {0, 0},
                               {1, 17},     {2, 18},   {3, 19},   {4, 20},   {5, 21},   {6, 22},   {7, 23},  {8, 24},
                               {12, 25},    {16, 26},  {23, 27},  {32, 28},  {46, 29},  {64, 30},  {91, 31}});
  expect_edges(false, 16, 64,
               {{-1000, 15},
                {-49, 14},
                {-38, 13},
                {-29, 12},
                {-22, 11},
                {-17, 10},
                {-13, 9},
                {-10, 8},
                {-7, 7},
                {-6, 6},
                {-5, 5},
                {-4, 4},
                {-3, 3},
                {-2, 2},
                {-1, 1},
                {0, 0}});
  expect_edges(true, 12, 100,
               {{-1000, 5}, {-31, 4}, {-9, 3}, {-2, 2}, {-1, 1}, {0, 0}, {1, 7}, {2, 8}, {3, 9}, {10, 10}, {32, 11}});
}

TEST(T5, RefusesTooFewBuckets) {
  EXPECT_THROW(t5_bucket(1, true, 2, 128), Error);
  EXPECT_THROW(t5_bucket(1, false, 32, 8), Error);
  // What the forward would refuse, the config does.
  StackConfig config;
  config.positions.kind = PositionKind::kT5;
  const auto accepted = [&](bool bidirectional, int64_t buckets, int64_t max_distance) {
    config.positions.t5_buckets = buckets;
    config.positions.t5_max_distance = max_distance;
    try {
      config.check(bidirectional);
    } catch (const Error&) {
      EXPECT_THROW(t5_bucket(1, bidirectional, buckets, max_distance), Error);
      return false;
    }
    t5_bucket(1, bidirectional, buckets, max_distance);
    return true;
  };
  for (const bool bidirectional : {true, false}) {
    EXPECT_TRUE(accepted(bidirectional, 32, 128));
    EXPECT_EQ(accepted(bidirectional, 2, 128), !bidirectional);
    EXPECT_EQ(accepted(bidirectional, 32, 16), bidirectional);
    EXPECT_FALSE(accepted(bidirectional, 32, 8));
  }
}

TEST(RotaryFrequencies, ScalingDividesAllOrTheSlowOnes) {
  PositionConfig plain, linear, llama3;
  linear.rotary_scale = {RotaryScaling::kLinear, 4};
  llama3.rotary_scale = {RotaryScaling::kLlama3, 8, 1, 4, 1000};
  const std::vector<float> w = rotary_frequencies(plain, 64), a = rotary_frequencies(linear, 64),
                           b = rotary_frequencies(llama3, 64);
  ASSERT_EQ(w.size(), 32u);
  int fast = 0, slow = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    EXPECT_FLOAT_EQ(w[i], static_cast<float>(std::pow(10000.0, -2.0 * static_cast<double>(i) / 64)));
    EXPECT_EQ(a[i], w[i] / 4);
    const double turns = 1000 * double{w[i]} / (2 * std::acos(-1.0));
    const bool is_fast = turns > 4, is_slow = turns < 1;
    EXPECT_EQ(b[i] == w[i], is_fast) << i;
    EXPECT_EQ(b[i] == w[i] / 8, is_slow) << i;
    EXPECT_LE(b[i], w[i]);
    EXPECT_GE(b[i], w[i] / 8);
    EXPECT_LT(b[i], i > 0 ? b[i - 1] : 2);  // no pair overtakes another
    fast += is_fast, slow += is_slow;
  }
  EXPECT_GT(fast, 3);
  EXPECT_GT(slow, 3);
}

}  // namespace
}  // namespace heed::nn
