#include "heed/kernels/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "heed/base/random.h"
#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using testing::Floats;
using testing::random_floats;

// A product with its own memory; rows are padded by `gap` floats to catch writes and strides that are off.
struct Case {
  int64_t M, N, K;
  bool a_transposed = false, b_transposed = false, accumulate = false, with_bias = false;
  int64_t gap = 0;
  Precision precision = Precision::kF32;
  NumberType type = NumberType::kF32;
  bool in_halves = false;

  int64_t lda() const { return (a_transposed ? M : K) + gap; }
  int64_t ldb() const { return (b_transposed ? K : N) + gap; }
  int64_t ldc() const { return N + gap; }
  Floats a() const { return random_floats((a_transposed ? K : M) * lda(), 1); }
  Floats b() const { return random_floats((b_transposed ? N : K) * ldb(), 2); }
  Floats bias() const { return random_floats(N, 3); }

  // What b() is stored as: 16 bits of any pattern whose number is finite.
  std::vector<uint16_t> b_halves() const {
    Random random(5);
    std::vector<uint16_t> halves(b().size());
    const uint32_t without_top = type == NumberType::kF16 ? 0xBFFF : 0xBF7F;  // below 2 in magnitude, also subnormal
    for (uint16_t& bits : halves) bits = static_cast<uint16_t>(random.below(1 << 16) & without_top);
    return halves;
  }

  template <class F>
  Floats run(F&& product) const {
    const auto a_values = a(), b_values = b(), bias_values = bias();
    const auto halves = b_halves();
    auto c = random_floats(M * ldc(), 4);
    Gemm g{};
    g.M = M, g.N = N, g.K = K;
    g.a = {a_values.data(), lda(), a_transposed};
    g.b = {b_values.data(), ldb(), b_transposed, type};
    if (type != NumberType::kF32) g.b.data = halves.data();
    g.c = c.data(), g.ldc = ldc();
    g.accumulate = accumulate;
    g.bias = with_bias ? bias_values.data() : nullptr;
    g.precision = precision;
    g.halves = in_halves;
    product(g);
    return c;
  }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.M << "x" << c.N << "x" << c.K << (c.a_transposed ? " T" : " N") << (c.b_transposed ? "T" : "N")
             << (c.accumulate ? " accumulate" : "") << (c.with_bias ? " bias" : "") << " gap " << c.gap << " "
             << name(c.type) << (c.in_halves ? " in halves" : "");
}

// Bit for bit where the CPU fuses; the baseline rounds twice.
void check(const Case& c) {
  SCOPED_TRACE(c);
  const Floats expected = c.run(gemm_reference);
  for (const int64_t target : testing::equal_targets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const testing::OnlyTarget only(target);
    testing::expect_same_bits(c.run(gemm), expected);
  }
  const testing::OnlyTarget only(HWY_SCALAR);
  testing::expect_close(c.run(gemm), expected, 3e-6 * (1.0 + std::sqrt(static_cast<double>(c.K))));
}

TEST(Gemm, EqualsTheReferenceOverSmallSizes) {
  for (const int64_t M : {0, 1, 2, 3, 4, 5, 6, 7, 12, 13}) {
    for (const int64_t N : {0, 1, 7, 8, 15, 16, 17, 33, 64, 65, 130}) {
      for (const int64_t K : {0, 1, 2, 3, 4, 5, 17}) {
        for (const int flags : {0, 1, 2, 3}) check({M, N, K, (flags & 1) != 0, (flags & 2) != 0, false, false, 3});
      }
    }
  }
}

TEST(Gemm, EqualsTheReferenceOverRandomShapes) {
  Random random(11);
  for (int i = 0; i < 60; ++i) {
    Case c{};
    c.M = 1 + static_cast<int64_t>(random.below(i % 3 == 0 ? 900 : 70));
    c.N = 1 + static_cast<int64_t>(random.below(i % 3 == 1 ? 900 : 150));
    c.K = 1 + static_cast<int64_t>(random.below(i % 3 == 2 ? 1500 : 100));
    c.a_transposed = random.below(2) != 0;
    c.b_transposed = random.below(2) != 0;
    c.accumulate = random.below(3) == 0;
    c.with_bias = !c.accumulate && random.below(2) != 0;
    c.gap = static_cast<int64_t>(random.below(2) * random.below(20));
    check(c);
  }
}

// Weights of 16 bits: the chain of the f32 they stand for, for few rows and for many.
TEST(Gemm, SixteenBitsEqualTheReference) {
  Random random(13);
  for (const NumberType type : {NumberType::kF16, NumberType::kBf16}) {
    for (int64_t rows = 1; rows <= 40; ++rows) {
      Case c{rows, 0, 0};
      c.N = 1 + static_cast<int64_t>(random.below(rows % 4 == 1 ? 700 : 90));
      c.K = static_cast<int64_t>(random.below(rows % 4 == 2 ? 900 : 120));
      c.a_transposed = rows % 5 == 4;
      c.b_transposed = random.below(2) != 0;
      c.accumulate = random.below(3) == 0;
      c.with_bias = !c.accumulate && random.below(2) != 0;
      c.gap = static_cast<int64_t>(random.below(2) * random.below(20));
      c.type = type;
      check(c);
    }
    check({900, 70, 130, false, true, false, true, 0, Precision::kF32, type});
    check({900, 1000, 30, false, false, false, false, 0, Precision::kBf16, type});  // bf16 is asked of f32 alone
  }
}

// Few rows take a path of their own, up to so many columns that threads share them.
TEST(Gemm, FewRowsEqualTheReference) {
  for (const int64_t M : {1, 2, 3, 5, 8, 15, 16, 17}) {
    for (const bool b_transposed : {false, true}) {
      check({M, 1100, 130, false, b_transposed, false, true, 5});
      check({M, 77, 1030, false, b_transposed, true});
    }
  }
}

// Two chains, for few rows and for many, in every layout and precision.
TEST(Gemm, HalvesEqualTheReference) {
  Random random(14);
  for (const int64_t M : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 70}) {
    for (int i = 0; i < 12; ++i) {
      Case c{M, 0, 0};
      c.N = 1 + static_cast<int64_t>(random.below(i % 3 == 0 ? 900 : 90));
      c.K = static_cast<int64_t>(random.below(i % 3 == 1 ? 900 : 130));
      c.a_transposed = i % 4 == 3;
      c.b_transposed = i % 5 == 4;
      c.accumulate = random.below(3) == 0;
      c.with_bias = !c.accumulate && random.below(2) != 0;
      c.gap = static_cast<int64_t>(random.below(2) * random.below(20));
      c.type = std::array{NumberType::kF32, NumberType::kF16, NumberType::kBf16}[random.below(3)];
      if (c.type == NumberType::kF32 && random.below(3) == 0) c.precision = Precision::kBf16;
      c.in_halves = true;
      check(c);
    }
  }
}

// Whole rows of weights follow each other: at one thread, and at two where each has a half of k.
TEST(Gemm, WholeRowsOfWeightsEqualTheReference) {
  const int threads = num_threads();
  for (const int n : {1, 2}) {
    set_num_threads(n);
    for (const NumberType type : {NumberType::kF32, NumberType::kF16, NumberType::kBf16}) {
      for (const int64_t M : {1, 3, 4, 16, 31}) {
        for (const int64_t N : {16, 64, 192, 960}) {
          for (const int64_t K : {1, 33, 47, 70, 130}) {
            check({M, N, K, false, false, false, K % 2 == 0, 0, Precision::kF32, type, n == 2});
          }
        }
      }
      check({1, 5120, 70, false, false, false, true, 0, Precision::kF32, type, true});  // more columns than stay in L1
    }
  }
  set_num_threads(threads);
}

// Fewer columns than threads have shares, and threads that do not divide.
TEST(Gemm, HalvesAtAnyNumberOfThreads) {
  const int threads = num_threads();
  for (const int n : {1, 3, 5, 8, 64}) {
    set_num_threads(n);
    for (const int64_t N : {1, 2, 5, 64, 130, 960}) {
      for (const int64_t M : {1, 3, 16}) {
        check({M, N, 70, false, false, false, true, 0, Precision::kF32, NumberType::kF32, true});
      }
    }
  }
  set_num_threads(threads);
}

// The shapes of layers take other paths: operands packed once for all, transposed rows that lie far apart packed by tiles.
TEST(Gemm, EqualsTheReferenceOnLayers) {
  check({800, 128, 128, false, true, false, true});
  check({800, 128, 128, false, false});
  check({64, 128, 1100, true, false, true});
  check({300, 192, 512, false, true, false, true});
  check({300, 192, 1024, false, true});
  check({40, 1000, 768, false, true});
  check({500, 70, 600, true, true, true});
  check({401, 300, 300, true, false, true});
  check({401, 300, 300, true, true, false, false, 3, Precision::kBf16});
}

TEST(Gemm, Bf16EqualsTheReference) {
  Random random(12);
  for (int i = 0; i < 60; ++i) {
    Case c{};
    c.M = 1 + static_cast<int64_t>(random.below(i % 3 == 0 ? 500 : 40));
    c.N = 1 + static_cast<int64_t>(random.below(i % 3 == 1 ? 500 : 100));
    c.K = static_cast<int64_t>(random.below(i % 3 == 2 ? 1200 : 50));
    c.a_transposed = random.below(2) != 0;
    c.b_transposed = random.below(2) != 0;
    c.accumulate = random.below(3) == 0;
    c.with_bias = !c.accumulate && random.below(2) != 0;
    c.gap = static_cast<int64_t>(random.below(2) * random.below(20));
    c.precision = Precision::kBf16;
    check(c);
  }
}

// Numbers of eight bits stay as they are, others go to the nearest, ties to even; what is not a number stays so.
TEST(Gemm, Bf16RoundsItsInputs) {
  const auto once = [](float x) {
    const float one = 1;
    float y = 0;
    Gemm g{1, 1, 1, {&x, 1}, {&one, 1}, &y, 1};
    g.precision = Precision::kBf16;
    gemm(g);
    return y;
  };
  EXPECT_EQ(once(1.0f), 1.0f);
  EXPECT_EQ(once(-0.34375f), -0.34375f);
  EXPECT_EQ(once(1.0f + 1.0f / 256), 1.0f);
  EXPECT_EQ(once(1.0f + 3.0f / 256), 1.0f + 4.0f / 256);
  EXPECT_EQ(once(1.0f + 1.01f / 256), 1.0f + 2.0f / 256);
  EXPECT_EQ(once(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(once(NAN)));
}

TEST(Gemm, BitsDoNotDependOnThreadsOrTargets) {
  for (const Case& c :
       {Case{700, 100, 300, false, true, false, true}, Case{50, 700, 600}, Case{130, 70, 900, true, false, true},
        Case{400, 1100, 70, true, false, true}, Case{3, 1500, 70}, Case{16, 1500, 70, false, true},
        Case{2, 900, 70, false, false, false, true, 0, Precision::kF32, NumberType::kF16},
        Case{40, 900, 70, false, true, false, true, 0, Precision::kF32, NumberType::kBf16},
        Case{130, 70, 900, false, true, true, false, 0, Precision::kBf16},
        Case{1, 900, 700, false, false, false, true, 0, Precision::kF32, NumberType::kF16, true},
        Case{16, 900, 700, false, false, false, true, 0, Precision::kF32, NumberType::kF32, true},
        Case{200, 90, 700, false, false, false, true, 0, Precision::kF32, NumberType::kF32, true}}) {
    SCOPED_TRACE(c);
    testing::expect_same_everywhere([&] { return c.run(gemm); });
  }
}

// A row alone and the row among others, a column alone and among others: the same bits.
TEST(Gemm, BitsDoNotDependOnNeighbours) {
  const Case c{400, 90, 700, false, true};
  const auto a = c.a(), b = c.b();
  const auto whole = c.run(gemm);
  for (const int64_t row : {0, 7, 211, 399}) {
    for (const int64_t rows : {1, 2, 9}) {
      if (row + rows > c.M) continue;
      Floats part(static_cast<size_t>(rows * c.N));
      gemm({rows, c.N, c.K, {a.data() + row * c.K, c.K}, {b.data(), c.K, true}, part.data(), c.N});
      EXPECT_EQ(std::memcmp(part.data(), whole.data() + row * c.N, part.size() * sizeof(float)), 0)
          << row << "+" << rows;
    }
  }
}

TEST(Gemm, FinishSeesEveryElementOnce) {
  Case halves{500, 200, 600, false, false, false, true, 5};
  halves.in_halves = true;
  Case few_halves = halves;
  few_halves.M = 3;
  for (const Case& c : {Case{500, 200, 600, false, true, false, true, 5}, Case{3, 900, 30},
                        Case{32, 90, 70, false, true}, Case{40, 17, 0}, halves, few_halves}) {
    const auto plain = c.run(gemm);
    const auto finished = c.run([&](Gemm g) {
      const auto add_place = [&](const Tile& tile) {
        EXPECT_EQ(tile.c, g.c + tile.row * g.ldc + tile.column);
        for (int64_t r = 0; r < tile.rows; ++r) {
          for (int64_t n = 0; n < tile.columns; ++n) tile.c[r * tile.ldc + n] *= 2.0f;
        }
      };
      const FunctionRef<void(const Tile&)> finish(add_place);
      g.finish = &finish;
      gemm(g);
    });
    for (int64_t m = 0; m < c.M; ++m) {
      for (int64_t n = 0; n < c.N; ++n) {
        const auto i = static_cast<size_t>(m * c.ldc() + n);
        ASSERT_EQ(finished[i], 2.0f * plain[i]) << c;
      }
    }
  }
}

TEST(Gemm, PaddingIsNeverRead) {
  // Not-a-number beyond the matrices must not reach any output.
  const auto poison = [](Floats& x, int64_t ld, int64_t used) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (static_cast<int64_t>(i) % ld >= used) x[i] = NAN;
    }
  };
  for (const int64_t M : {1, 3, 16, 37}) {
    for (const int flags : {0, 1, 2}) {  // 2: halves
      Case c{M, 41, 53, false, flags == 1, false, true, 9};
      auto a = c.a(), b = c.b();
      poison(a, c.lda(), c.K);
      poison(b, c.ldb(), c.b_transposed ? c.K : c.N);
      Floats out(static_cast<size_t>(c.M * c.N));
      Gemm g{c.M, c.N, c.K, {a.data(), c.lda()}, {b.data(), c.ldb(), c.b_transposed}, out.data(), c.N};
      g.halves = flags == 2;
      gemm(g);
      for (const float x : out) ASSERT_TRUE(std::isfinite(x)) << c;
    }
  }
}

}  // namespace
}  // namespace heed::kernels
