#include "heed/kernels/optimizer.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

TEST(Optimizer, NormAgreesWithItsReference) {
  on_every_target([] {
    const Floats known = {10, -5, 10, 0};
    EXPECT_DOUBLE_EQ(norm2(known.data(), 4), 15);
    for (const int64_t n : {0, 1, 15, 16, 33, 16384, 16385, 200003}) {
      const Floats g = random_floats(n, 1);
      EXPECT_NEAR(norm2(g.data(), n), norm2_reference(g.data(), n), 1e-12 * static_cast<double>(n + 1));
    }
    const Floats huge(3, 1e30f);  // its squares are past the range of float
    EXPECT_NEAR(norm2(huge.data(), 3) / 1e30, std::sqrt(3.0), 1e-6);
  });
}

const std::vector<Floats> kGradients = {
    {0.1f, -0.2f, 0.3f, 1e-5f}, {0.05f, 0.4f, -0.3f, 2e-5f}, {-0.2f, 0.1f, 0, -1e-5f}};

TEST(Optimizer, AdamStepsAsPyTorchDoes) {
  const std::vector<Floats> expected = {{0.49000001f, -0.99000001f, 1.99000001f, 0.090001002f},
                                        {0.48065123f, -0.993650556f, 1.99052632f, 0.0803774595f},
                                        {0.482703507f, -0.997812986f, 1.99093509f, 0.0761767179f}};
  on_every_target([&] {
    Guarded w(Floats{0.5f, -1, 2, 0.1f}), m(4), v(4);
    for (size_t i = 0; i < 3; ++i) {
      adam({4, w.data(), m.data(), v.data(), kGradients[i].data(), 0.01, 0.9, 0.98, 1e-9, 0,
            static_cast<int64_t>(i) + 1});
      expect_close(w.values(), expected[i], 2e-7);
    }
    expect_close(m.values(), {-0.0074f, 0.0298000015f, -0.00270000054f, 1.61000003e-06f}, 3e-9);
    expect_close(v.values(), {0.0010410801f, 0.00410431996f, 0.00349272043f, 1.17607989e-11f}, 1e-9);
  });
}

TEST(Optimizer, AdamWStepsAsPyTorchDoes) {
  const std::vector<Floats> expected = {{0.489500016f, -0.989000022f, 1.98800004f, 0.0899099857f},
                                        {0.479688704f, -0.991672099f, 1.98653841f, 0.0801743567f},
                                        {0.481272608f, -0.994836986f, 1.98495877f, 0.0758962557f}};
  on_every_target([&] {
    Guarded w(Floats{0.5f, -1, 2, 0.1f}), m(4), v(4);
    for (size_t i = 0; i < 3; ++i) {
      adam({4, w.data(), m.data(), v.data(), kGradients[i].data(), 0.01, 0.9, 0.999, 1e-8, 0.1,
            static_cast<int64_t>(i) + 1});
      expect_close(w.values(), expected[i], 2e-7);
    }
  });
}

TEST(Optimizer, SgdStepsAsPyTorchDoes) {
  const std::vector<Floats> expected = {{0.489499986f, -0.978999972f, 1.96800005f},
                                        {0.474560499f, -0.999120951f, 1.96723211f},
                                        {0.480640382f, -1.02623069f, 1.96457362f}};
  on_every_target([&] {
    Guarded w(Floats{0.5f, -1, 2}), momentum(3);
    for (size_t i = 0; i < 3; ++i) {
      sgd({3, w.data(), momentum.data(), kGradients[i].data(), 0.1f, 0.9f, 0.01f, 1});
      expect_close(w.values(), expected[i], 2e-7);
    }
  });
}

struct State {
  Floats w, m, v, g;
  explicit State(int64_t n)
      : w(random_floats(n, 1)), m(random_floats(n, 2, 0.1f)), v(random_floats(n, 3, 0.1f)), g(random_floats(n, 4)) {
    for (float& x : v) x *= x;
  }
  AdamStep adam_step() {
    return {
        static_cast<int64_t>(w.size()), w.data(), m.data(), v.data(), g.data(), 0.02, 0.9, 0.98, 1e-9, 0.05, 7, 0.3f};
  }
  SgdStep sgd_step(bool with_momentum) {
    return {static_cast<int64_t>(w.size()),
            w.data(),
            with_momentum ? m.data() : nullptr,
            g.data(),
            0.02f,
            with_momentum ? 0.9f : 0,
            0.05f,
            0.3f};
  }
};

TEST(Optimizer, StepsAgreeWithTheirReferences) {
  on_every_target([] {
    for (const int64_t n : {0, 1, 17, 16384, 50001}) {
      State a(n), b(n);
      adam(a.adam_step());
      adam_reference(b.adam_step());
      expect_close(a.w, b.w, 1e-6);
      expect_close(a.m, b.m, 1e-6);
      expect_close(a.v, b.v, 1e-6);
      for (const bool with_momentum : {false, true}) {
        sgd(a.sgd_step(with_momentum));
        sgd_reference(b.sgd_step(with_momentum));
        expect_close(a.w, b.w, 1e-6);
        expect_close(a.m, b.m, 1e-6);
      }
    }
  });
}

TEST(Optimizer, AnAverageFollowsAsItsReferenceDoes) {
  on_every_target([] {
    for (const int64_t n : {0, 1, 15, 16, 33, 70003}) {
      const auto size = static_cast<size_t>(n);
      const Floats w = random_floats(size, 3);
      Floats a = random_floats(size, 4), b = a;
      moving_average(a.data(), w.data(), 0.999f, n);
      moving_average_reference(b.data(), w.data(), 0.999f, n);
      EXPECT_EQ(a, b);  // to the bit
    }
  });
  Floats average = {1, 2};
  moving_average(average.data(), Floats{3, 6}.data(), 0.5, 2);
  EXPECT_EQ(average, (Floats{2, 4}));
}

TEST(Optimizer, AZeroGradientMovesNothing) {
  Floats w = {1, 2}, m(2, 0.0f), v(2, 0.0f);
  const Floats g(2, 0.0f);
  adam({2, w.data(), m.data(), v.data(), g.data(), 0.1, 0.9, 0.98, 1e-9, 0, 1});
  EXPECT_EQ(w, (Floats{1, 2}));
}

TEST(Optimizer, SameBitsEverywhere) {
  const Floats g = random_floats(300007, 5);
  expect_same_everywhere([&] {
    const double norm = norm2(g.data(), static_cast<int64_t>(g.size()));
    return Floats{static_cast<float>(norm), static_cast<float>(norm - static_cast<float>(norm))};
  });
  expect_same_everywhere([] {
    State s(70003);
    adam(s.adam_step());
    sgd(s.sgd_step(true));
    moving_average(s.v.data(), s.w.data(), 0.9f, 70003);
    s.w.insert(s.w.end(), s.v.begin(), s.v.end());
    return s.w;
  });
}

}  // namespace
}  // namespace heed::kernels
