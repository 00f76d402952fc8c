#include "heed/kernels/elementwise.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

Floats each(const Floats& a, const Floats& b, float (*f)(float, float)) {
  Floats y(a.size());
  for (size_t i = 0; i < a.size(); ++i) y[i] = f(a[i], b[i]);
  return y;
}

TEST(Elementwise, AgreesWithPlainLoops) {
  on_every_target([] {
    for (const int64_t n : {0, 1, 15, 16, 17, 1000, 16384, 16385, 70001}) {
      const Floats a = random_floats(n, 1), b = random_floats(n, 2), before = random_floats(n, 3);
      Guarded y(before);
      fill(y.data(), 2.5f, n);
      expect_same_bits(y.values(), Floats(a.size(), 2.5f));
      copy(y.data(), a.data(), n);
      expect_same_bits(y.values(), a);
      add(y.data(), a.data(), b.data(), n);
      expect_same_bits(y.values(), each(a, b, [](float p, float q) { return p + q; }));
      multiply(y.data(), a.data(), b.data(), n);
      expect_same_bits(y.values(), each(a, b, [](float p, float q) { return p * q; }));
      scale(y.data(), a.data(), 0.25f, n, false);
      expect_same_bits(y.values(), each(a, a, [](float p, float) { return 0.25f * p; }));
      copy(y.data(), b.data(), n);
      scale(y.data(), a.data(), 3.0f, n, true);
      expect_close(y.values(), each(a, b, [](float p, float q) { return 3.0f * p + q; }), 1e-6);
      copy(y.data(), b.data(), n);
      multiply_accumulate(y.data(), a.data(), b.data(), n);
      expect_close(y.values(), each(a, b, [](float p, float q) { return p * q + q; }), 1e-6);
    }
  });
}

Floats row_sums(const Floats& x, int64_t ld, int64_t T, int64_t C) {
  Guarded y(random_floats(C, 9));
  sum_rows(y.data(), x.data(), ld, T, C);
  return y.values();
}

TEST(Elementwise, SumsOfRows) {
  on_every_target([] {
    for (const auto& [T, C] :
         {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {1, 1}, {5, 7}, {128, 16}, {129, 65}, {300, 600}, {1000, 33}}) {
      const int64_t ld = C + 2;
      const Floats x = random_floats(T * ld, 1);
      Floats expected = random_floats(C, 9);
      for (int64_t c = 0; c < C; ++c) {
        double total = expected[static_cast<size_t>(c)];
        for (int64_t t = 0; t < T; ++t) total += x[static_cast<size_t>(t * ld + c)];
        expected[static_cast<size_t>(c)] = static_cast<float>(total);
      }
      expect_close(row_sums(x, ld, T, C), expected, 1e-5);
    }
  });
}

TEST(Elementwise, SumIsInDouble) {
  on_every_target([] {
    Floats x(100001, 1e-3f);
    x[7] = 1e8f;
    EXPECT_NEAR(sum(x.data(), static_cast<int64_t>(x.size())), 1e8 + 100000 * double{1e-3f}, 2e-5);
    EXPECT_EQ(sum(x.data(), 0), 0);
    EXPECT_EQ(sum(x.data(), 1), x[0]);
  });
}

TEST(Elementwise, SameBitsEverywhere) {
  const Floats x = random_floats(100003, 4), y = random_floats(100003, 5);
  const int64_t n = static_cast<int64_t>(x.size());
  expect_same_everywhere([&] { return row_sums(x, 97, 1030, 96); });
  expect_same_everywhere([&] {
    const double total = sum(x.data(), n);
    return Floats{static_cast<float>(total), static_cast<float>(total - static_cast<float>(total))};
  });
  expect_same_everywhere([&] {
    Floats z = y;
    scale(z.data(), x.data(), 0.3f, n, true);
    multiply_accumulate(z.data(), x.data(), y.data(), n);
    return z;
  });
}

}  // namespace
}  // namespace heed::kernels
