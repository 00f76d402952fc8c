#include "heed/kernels/quantised.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/half.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using testing::Floats;
using testing::random_floats;

constexpr NumberType kBoth[] = {NumberType::kInt8, NumberType::kInt4};

struct Weights {
  Weights(NumberType number_type, int64_t outputs, int64_t inputs, uint64_t seed = 1)
      : type(number_type),
        out(outputs),
        in(inputs),
        values(random_floats(out * in, seed, 0.02f)),
        tiles(static_cast<size_t>(quantised_bytes(type, out, in))) {
    quantise(tiles.data(), type, values.data(), out, in);
  }
  Floats row(int64_t r) const {
    Floats x(static_cast<size_t>(in));
    dequantise_row(x.data(), {tiles.data(), in, type}, r);
    return x;
  }
  NumberType type;
  int64_t out, in;
  Floats values;
  std::vector<uint8_t> tiles;
};

struct Product {
  int64_t M;
  bool accumulate = false, with_bias = false;
  int64_t gap = 0;

  template <class F>
  Floats run(const Weights& w, const Floats& x, F&& product) const {
    const Floats bias = random_floats(w.out, 3);
    Floats c = random_floats(M * (w.out + gap), 4);
    Gemm g{};
    g.M = M, g.N = w.out, g.K = w.in;
    g.a = {x.data(), w.in};
    g.b = {w.tiles.data(), w.in, true, w.type};
    g.c = c.data(), g.ldc = w.out + gap;
    g.accumulate = accumulate;
    g.bias = with_bias ? bias.data() : nullptr;
    product(g);
    return c;
  }
};

// The error of a group is at most half a step (and one step where 4 bits end at +7), the squared one below that of the
// scale that lets the largest weight fill the range.
TEST(Quantised, WeightsComeBackWithinAStep) {
  for (const NumberType type : kBoth) {
    const Weights w(type, 50, 96);
    const double steps = type == NumberType::kInt8 ? 127 : 8;
    double squared = 0, by_largest = 0;
    for (int64_t r = 0; r < w.out; ++r) {
      const Floats back = w.row(r);
      for (int64_t g = 0; g < w.in; g += kGroup) {
        const float* x = w.values.data() + r * w.in + g;
        float largest = 0;
        for (int64_t i = 0; i < kGroup; ++i) largest = std::abs(x[i]) > std::abs(largest) ? x[i] : largest;
        const double scale = -largest / steps;
        for (int64_t i = 0; i < kGroup; ++i) {
          const double error = back[static_cast<size_t>(g + i)] - x[i];
          ASSERT_LE(std::abs(error), 1.25 * std::abs(scale)) << name(type) << " at " << r << ", " << g + i;
          squared += error * error;
          const double q = std::clamp(std::nearbyint(x[i] / scale), -steps, type == NumberType::kInt8 ? 127.0 : 7.0);
          by_largest += (q * scale - x[i]) * (q * scale - x[i]);
        }
      }
    }
    EXPECT_LT(squared, by_largest) << name(type);
  }
}

// What fits the steps of a scale comes back as it was.
TEST(Quantised, WholeStepsAreExact) {
  for (const NumberType type : kBoth) {
    const int least = type == NumberType::kInt8 ? -127 : -8, most = type == NumberType::kInt8 ? 127 : 7;
    std::vector<float> w(3 * 64);
    for (size_t i = 0; i < w.size(); ++i) {
      w[i] = 0.25f * static_cast<float>(static_cast<int>(i * 37) % (most - least + 1) + least);
      if (i % 32 == 5) w[i] = 0.25f * static_cast<float>(least);
    }
    for (size_t i = 64; i < 96; ++i) w[i] = 0;
    std::vector<uint8_t> tiles(static_cast<size_t>(quantised_bytes(type, 3, 64)));
    quantise(tiles.data(), type, w.data(), 3, 64);
    for (int64_t r = 0; r < 3; ++r) {
      Floats back(64);
      copy_row(back.data(), {tiles.data(), 64, 64, type}, r);
      testing::expect_same_bits(back, Floats(w.begin() + r * 64, w.begin() + (r + 1) * 64));
    }
  }
}

TEST(Quantised, ProductEqualsTheReference) {
  for (const NumberType type : kBoth) {
    for (const int64_t out : {1, 15, 16, 17, 40, 333}) {
      const Weights w(type, out, out == 40 ? 768 : 96, static_cast<uint64_t>(out));
      for (const int64_t rows : {1, 2, 3, 4, 5, 11, 40}) {
        const Floats x = random_floats(rows * w.in, 2);
        const Product p{rows, rows % 3 == 2, rows % 3 == 1, rows % 2 * 3};
        const Floats expected = p.run(w, x, gemm_reference);
        for (const int64_t target : testing::equal_targets()) {
          SCOPED_TRACE(::testing::Message() << hwy::TargetName(target) << ", " << out << ", " << rows);
          const testing::OnlyTarget only(target);
          testing::expect_same_bits(p.run(w, x, gemm), expected);
        }
        const testing::OnlyTarget only(HWY_SCALAR);
        testing::expect_close(p.run(w, x, gemm), expected, 1e-5);
      }
    }
  }
}

// Extremes of both: no sum may overflow.
TEST(Quantised, LargestSumsAreExact) {
  for (const NumberType type : kBoth) {
    for (const float sign : {-1.0f, 1.0f}) {
      const int64_t in = 64;
      std::vector<float> w(16 * in, 0.5f);
      for (size_t i = 0; i < w.size(); ++i) w[i] = i % 64 % 3 == 0 ? -0.5f : 0.5f;
      std::vector<uint8_t> tiles(static_cast<size_t>(quantised_bytes(type, 16, in)));
      quantise(tiles.data(), type, w.data(), 16, in);
      Floats x(in);
      for (size_t i = 0; i < x.size(); ++i) x[i] = sign * (i % 3 == 0 ? -1.0f : 1.0f);
      Floats y(16), expected(16);
      Gemm g{1, 16, in, {x.data(), in}, {tiles.data(), in, true, type}, y.data(), 16};
      gemm(g);
      g.c = expected.data();
      gemm_reference(g);
      testing::expect_same_bits(y, expected);
      for (int64_t n = 0; n < 16; ++n) EXPECT_GT(sign * y[static_cast<size_t>(n)], 20.0f);
    }
  }
}

TEST(Quantised, BitsDoNotDependOnThreadsTargetsOrNeighbours) {
  for (const NumberType type : kBoth) {
    const Weights w(type, 700, 320);
    const Floats x = random_floats(7 * w.in, 9);
    const Product p{7, false, true};
    testing::expect_same_everywhere([&] { return p.run(w, x, gemm); });
    const Floats whole = p.run(w, x, gemm);
    for (int64_t row = 0; row < 7; ++row) {
      const Floats alone =
          Product{1, false, true}.run(w, Floats(x.begin() + row * w.in, x.begin() + (row + 1) * w.in), gemm);
      EXPECT_EQ(std::memcmp(alone.data(), whole.data() + row * w.out, alone.size() * sizeof(float)), 0) << row;
    }
  }
}

// Near the product of the weights that were rounded, up to the rounding of x to 8 bits.
TEST(Quantised, ProductIsNearThatOfItsWeights) {
  for (const NumberType type : kBoth) {
    const Weights w(type, 64, 768);
    const Floats x = random_floats(w.in, 2);
    const Floats y = Product{1}.run(w, x, gemm);
    double error = 0, size = 0;
    for (int64_t n = 0; n < w.out; ++n) {
      const Floats row = w.row(n);
      double exact = 0;
      for (int64_t k = 0; k < w.in; ++k) exact += double{row[static_cast<size_t>(k)]} * x[static_cast<size_t>(k)];
      error += std::pow(y[static_cast<size_t>(n)] - exact, 2);
      size += exact * exact;
    }
    EXPECT_LT(std::sqrt(error / size), 0.01);
  }
}

TEST(Quantised, NumbersThatAreNoneStaySeen) {
  const Weights w(NumberType::kInt4, 20, 64);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    Floats x = random_floats(2 * w.in, 2);
    x[70] = bad;
    const Floats y = Product{2}.run(w, x, gemm);
    for (size_t n = 0; n < 20; ++n) {
      EXPECT_TRUE(std::isfinite(y[n]));
      EXPECT_TRUE(std::isnan(y[20 + n]));
    }
  }
  Floats tiny(64, 1e-38f);
  for (const float y : Product{1}.run(w, tiny, gemm)) EXPECT_NEAR(y, 0, 1e-30);
}

TEST(Quantised, WrongSizesAreRefused) {
  std::vector<uint8_t> tiles(2000);
  const Floats w(16 * 40, 1.0f);
  EXPECT_THROW(quantise(tiles.data(), NumberType::kInt8, w.data(), 16, 40), Error);
  EXPECT_THROW(quantise(tiles.data(), NumberType::kF16, w.data(), 16, 32), Error);
  const Floats huge(32, 1e9f);
  EXPECT_THROW(quantise(tiles.data(), NumberType::kInt8, huge.data(), 1, 32), Error);
  for (const NumberType type : kBoth) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      Floats one(32, 1.0f);
      one[7] = bad;
      EXPECT_THROW(quantise(tiles.data(), type, one.data(), 1, 32), Error) << name(type) << ", " << bad;
    }
  }
}

TEST(Half, RoundTripsAndRounds) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(x))));
    } else {
      ASSERT_EQ(f32_to_f16(x), bits);
    }
    // Between neighbours: the nearer, the even one half way.
    if ((bits & 0x7FFF) >= 0x7BFF) continue;
    const float next = f16_to_f32(static_cast<uint16_t>(bits + 1)), half = x + (next - x) / 2;
    ASSERT_EQ(f32_to_f16(half), bits & 1 ? bits + 1 : bits);
    ASSERT_EQ(f32_to_f16(std::nextafter(half, x)), bits);
    ASSERT_EQ(f32_to_f16(std::nextafter(half, next)), bits + 1);
  }
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xFC00);
}

}  // namespace
}  // namespace heed::kernels
