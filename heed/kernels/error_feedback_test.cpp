#include "heed/kernels/error_feedback.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/base/error.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/quantised.h"
#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using testing::Floats;
using testing::random_floats;

// rows of `in` numbers that have much in common, as those inside a model do
Floats inputs(int64_t rows, int64_t in, uint64_t seed) {
  constexpr int64_t kCauses = 12;
  const Floats causes = random_floats(rows * kCauses, seed), mix = random_floats(kCauses * in, 77);
  Floats x = random_floats(rows * in, seed + 1, 0.3f);
  gemm({.M = rows,
        .N = in,
        .K = kCauses,
        .a = {causes.data(), kCauses},
        .b = {mix.data(), in},
        .c = x.data(),
        .ldc = in,
        .accumulate = true});
  return x;
}

// a^T b
Floats products(const Floats& a, const Floats& b, int64_t in) {
  Floats sum(static_cast<size_t>(in * in));
  const int64_t rows = static_cast<int64_t>(a.size()) / in;
  gemm({.M = in, .N = in, .K = rows, .a = {a.data(), in, true}, .b = {b.data(), in}, .c = sum.data(), .ldc = in});
  return sum;
}

using Bytes = std::vector<uint8_t>;
Bytes plain(const Floats& w, int64_t out, int64_t in, NumberType type = NumberType::kInt4) {
  Bytes tiles(static_cast<size_t>(quantised_bytes(type, out, in)));
  quantise(tiles.data(), type, w.data(), out, in);
  return tiles;
}
Bytes fed_back(const InputMoments& m, const Floats& w, int64_t out, NumberType type = NumberType::kInt4) {
  Bytes tiles(static_cast<size_t>(quantised_bytes(type, out, m.in)), 0xAA);
  quantise_with_feedback(tiles.data(), type, feedback_of(m), w.data(), out);
  return tiles;
}

// The squared distance of what the quantised weights make of x from what w makes of `wanted`, as a share of the size of that.
double loss(const Bytes& tiles, const Floats& w, const Floats& x, const Floats& wanted, int64_t in,
            NumberType type = NumberType::kInt4) {
  const auto n = static_cast<size_t>(in);
  double sum = 0, size = 0;
  Floats row(n);
  for (size_t o = 0; o < w.size() / n; ++o) {
    dequantise_row(row.data(), {tiles.data(), in, type}, static_cast<int64_t>(o));
    for (size_t r = 0; r < x.size() / n; ++r) {
      double y = 0, y_wanted = 0;
      for (size_t i = 0; i < n; ++i) {
        y += double{row[i]} * x[r * n + i];
        y_wanted += double{w[o * n + i]} * wanted[r * n + i];
      }
      sum += (y - y_wanted) * (y - y_wanted), size += y_wanted * y_wanted;
    }
  }
  return sum / size;
}

TEST(ErrorFeedback, TheFactorIsThatOfTheMoments) {
  const int64_t in = 352;  // more than a strip
  const Floats x = inputs(500, in, 1), h = products(x, x, in);
  const Feedback f = feedback_of({in, h, {}});
  double mean = 0;
  for (int64_t i = 0; i < in; ++i) mean += h[static_cast<size_t>(i * in + i)] / static_cast<double>(in);
  for (int64_t i = 0; i < in; i += 7) {
    for (int64_t j = 0; j <= i; j += 5) {
      double sum = 0;
      for (int64_t k = 0; k <= j; ++k) {
        const double left = k == i ? 1 : -f.minus_l[static_cast<size_t>(i * in + k)];
        const double right = k == j ? 1 : -f.minus_l[static_cast<size_t>(j * in + k)];
        sum += left * f.d[static_cast<size_t>(k)] * right;
      }
      const double expected = h[static_cast<size_t>(i * in + j)] + (i == j ? 0.01 * mean : 0);
      ASSERT_NEAR(sum, expected, 1e-4 * mean) << i << ", " << j;
    }
  }
}

TEST(ErrorFeedback, OutputsMoveLess) {
  for (const int64_t out : {1, 17, 48}) {
    const int64_t in = 96;
    const Floats x = inputs(400, in, 3), unseen = inputs(200, in, 9), w = random_floats(out * in, 5, 0.02f);
    for (const NumberType type : {NumberType::kInt4, NumberType::kInt8}) {
      const Bytes with = fed_back({in, products(x, x, in), {}}, w, out, type), without = plain(w, out, in, type);
      EXPECT_LT(loss(with, w, unseen, unseen, in, type), 0.5 * loss(without, w, unseen, unseen, in, type))
          << out << " " << name(type);
    }
  }
}

// Inputs that have come with errors: the map takes some of those back.
TEST(ErrorFeedback, WhatWasLostBeforeIsMadeUpFor) {
  const int64_t in = 64, out = 32;
  const Floats wanted = inputs(600, in, 3), w = random_floats(out * in, 5, 0.02f);
  Floats x = wanted;
  for (size_t i = 0; i < x.size(); ++i) x[i] *= i % 64 < 20 ? 0.7f : 1.1f;
  Floats lost = wanted;
  for (size_t i = 0; i < x.size(); ++i) lost[i] -= x[i];
  const Floats h = products(x, x, in), missing = products(lost, x, in);
  const double without = loss(fed_back({in, h, {}}, w, out), w, x, wanted, in);
  EXPECT_LT(loss(fed_back({in, h, missing}, w, out), w, x, wanted, in), 0.5 * without);
  // The same told of the outputs.
  Floats of_outputs(w.size());
  gemm({.M = out, .N = in, .K = in, .a = {w.data(), in}, .b = {missing.data(), in}, .c = of_outputs.data(), .ldc = in});
  EXPECT_LT(loss(fed_back({in, h, of_outputs, true}, w, out), w, x, wanted, in), 0.5 * without);
}

// Inputs that say nothing of each other, or nothing at all: as good as rounding each weight by itself.
TEST(ErrorFeedback, WithoutAnythingToGoByWeightsAreRounded) {
  const int64_t in = 64, out = 40;
  const Floats w = random_floats(out * in, 5, 0.02f);
  Floats ones(static_cast<size_t>(in * in)), identity(static_cast<size_t>(in * in));
  for (size_t i = 0; i < ones.size(); i += 65) identity[i] = 1;
  const double best = loss(plain(w, out, in), w, identity, identity, in);
  for (const Floats& h : {identity, Floats(ones.size())}) {
    const Bytes tiles = fed_back({in, h, Floats(ones.size())}, w, out);
    EXPECT_NEAR(loss(tiles, w, identity, identity, in), best, 0.05 * best);
  }
  const Bytes zeros = fed_back({in, identity, {}}, Floats(w.size()), out);
  Floats row(64, 1);
  dequantise_row(row.data(), {zeros.data(), in, NumberType::kInt4}, 0);
  testing::expect_same_bits(row, Floats(64));
}

TEST(ErrorFeedback, TheSameBitsEverywhere) {
  const int64_t in = 320, out = 50;
  const Floats x = inputs(400, in, 3), lost = random_floats(400 * in, 4, 0.1f), w = random_floats(out * in, 5, 0.02f);
  testing::expect_same_everywhere([&] {
    const Bytes tiles = fed_back({in, products(x, x, in), products(lost, x, in)}, w, out);
    return Floats(tiles.begin(), tiles.end());
  });
}

TEST(ErrorFeedback, NoNumbersAreRefused) {
  const auto refusal = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  Floats h(64 * 64);
  for (size_t i = 0; i < h.size(); i += 65) h[i] = 1;
  for (const float bad : {kNan, kInfinity}) {
    Floats broken = h, w(64, 0.5f);
    broken[64 * 40 + 3] = bad;
    EXPECT_NE(refusal([&] { feedback_of({64, broken, {}}); }).find("not finite"), std::string::npos) << bad;
    w[7] = bad;
    EXPECT_NE(refusal([&] { fed_back({64, h, {}}, w, 1); }).find("not finite"), std::string::npos) << bad;
  }
  EXPECT_NE(refusal([&] { feedback_of({40, Floats(1600), {}}); }).find("multiple of 32"), std::string::npos);
}

}  // namespace
}  // namespace heed::kernels
