#include "heed/kernels/activation.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

constexpr Activation kAll[] = {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                               Activation::kSilu};

Floats value(const Floats& x, Activation act) {
  Guarded y(static_cast<int64_t>(x.size()));
  activate(y.data(), x.data(), static_cast<int64_t>(x.size()), act);
  return y.values();
}

Floats slope(const Floats& x, Activation act) {
  Guarded dx(static_cast<int64_t>(x.size()));
  activate_backward(dx.data(), x.data(), Floats(x.size(), 1.0f).data(), static_cast<int64_t>(x.size()), act, false);
  return dx.values();
}

// The whole range that matters, densely, and the far ends.
Floats sweep() {
  Floats x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 7e-4f);
  for (const float far : {1e-30f, 1e-8f, 1e-3f, 20.0f, 87.0f, 88.5f, 100.0f, 1e4f, 1e10f, 1e30f}) {
    x.push_back(far);
    x.push_back(-far);
  }
  return x;
}

TEST(Activation, GivesTheNumbersOfPyTorch) {
  const Floats x = {-6, -3, -1, -0.5f, 0, 0.5f, 1, 3, 6};
  on_every_target([&] {
    expect_close(value(x, Activation::kGelu),
                 {-5.91952587e-09f, -0.00404969409f, -0.158655254f, -0.154268769f, 0.0f, 0.345731231f, 0.841344746f,
                  2.99595031f, 5.99999999f},
                 3e-7);
    expect_close(slope(x, Activation::kGelu),
                 {-3.54687095e-08f, -0.0119456472f, -0.0833154706f, 0.132504875f, 0.5f, 0.867495125f, 1.08331547f,
                  1.01194565f, 1.00000004f},
                 3e-7);
    expect_close(value(x, Activation::kGeluTanh),
                 {-8.43964898e-11f, -0.00363739208f, -0.158808009f, -0.15428599f, 0.0f, 0.34571401f, 0.841191991f,
                  2.99636261f, 6.0f},
                 3e-7);
    expect_close(slope(x, Activation::kGeluTanh),
                 {-7.70997601e-10f, -0.0115841666f, -0.0829640838f, 0.132630096f, 0.5f, 0.867369904f, 1.08296408f,
                  1.01158417f, 1.0f},
                 3e-7);
    expect_close(value(x, Activation::kSilu),
                 {-0.0148357389f, -0.14227762f, -0.268941421f, -0.188770334f, 0.0f, 0.311229666f, 0.731058579f,
                  2.85772238f, 5.98516426f},
                 3e-7);
    expect_close(slope(x, Activation::kSilu),
                 {-0.0123264326f, -0.088104106f, 0.0723294881f, 0.260038813f, 0.5f, 0.739961187f, 0.927670512f,
                  1.08810411f, 1.01232643f},
                 3e-7);
  });
}

TEST(Activation, AgreesWithItsReferenceEverywhere) {
  const Floats x = sweep();
  const int64_t n = static_cast<int64_t>(x.size());
  on_every_target([&] {
    for (const Activation act : kAll) {
      SCOPED_TRACE(static_cast<int>(act));
      Floats expected(x.size());
      activate_reference(expected.data(), x.data(), n, act);
      expect_close(value(x, act), expected, 5e-7);
      activate_backward_reference(expected.data(), x.data(), Floats(x.size(), 1.0f).data(), n, act, false);
      expect_close(slope(x, act), expected, 1e-6);
    }
  });
}

TEST(Activation, OddSizesAndAccumulation) {
  for (const int64_t n : {0, 1, 15, 16, 17, 100, 8192, 8193, 20001}) {
    const Floats x = random_floats(n, 1, 2.0f), dy = random_floats(n, 2), before = random_floats(n, 3);
    for (const Activation act : kAll) {
      for (const bool accumulate : {false, true}) {
        Guarded found(before);
        Floats expected = before;
        activate_backward(found.data(), x.data(), dy.data(), n, act, accumulate);
        activate_backward_reference(expected.data(), x.data(), dy.data(), n, act, accumulate);
        expect_close(found.values(), expected, 2e-6);
      }
    }
  }
}

TEST(Activation, NaNIsNotHidden) {
  on_every_target([] {
    for (const Activation act : kAll) {
      SCOPED_TRACE(static_cast<int>(act));
      EXPECT_TRUE(std::isnan(value({std::nanf("")}, act)[0]));
      const bool constant = act == Activation::kNone || act == Activation::kRelu;  // their slope is a step or 1
      EXPECT_TRUE(constant || std::isnan(slope({std::nanf("")}, act)[0]));
    }
  });
}

TEST(Activation, BackwardIsTheDerivative) {
  const Floats x = random_floats(40, 4, 2.0f), dy(40, 1.0f);
  for (const Activation act : kAll) {
    const auto forward = [act](const Floats& at) {
      Floats y(at.size());
      activate_reference(y.data(), at.data(), static_cast<int64_t>(at.size()), act);
      return y;
    };
    expect_close(slope(x, act), finite_differences(x, dy, forward, 1e-2f), 1e-3);
  }
}

TEST(Activation, RowsWithStrides) {
  for (const Activation act : kAll) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 4}, {3, 0}, {1, 1}, {6, 32}, {5, 19}}) {
      const int64_t ldx = columns + 3, ldy = columns + 5;
      const Floats x = random_floats(rows * ldx, 5), before = random_floats(rows * ldy, 6);
      Guarded y(before), scaled(before);
      activate_rows(y.data(), ldy, x.data(), ldx, rows, columns, act);
      scale_by_derivative_rows(scaled.data(), ldy, x.data(), ldx, rows, columns, act);
      Floats expected = before, expected_scaled = before;
      for (int64_t r = 0; r < rows; ++r) {
        float* to = expected_scaled.data() + r * ldy;
        activate_reference(expected.data() + r * ldy, x.data() + r * ldx, columns, act);
        activate_backward_reference(to, x.data() + r * ldx, to, columns, act, false);
      }
      expect_close(y.values(), expected, 1e-6);
      expect_close(scaled.values(), expected_scaled, 1e-6);
    }
  }
}

TEST(Gate, AgreesWithItsReference) {
  on_every_target([] {
    for (const int64_t n : {0, 1, 31, 8195, 17000}) {
      const Floats g = random_floats(n, 1, 2.0f), up = random_floats(n, 2), dy = random_floats(n, 3),
                   before = random_floats(n, 4);
      for (const Activation act : kAll) {
        Guarded y(n), dgate(before), dup(before);
        Floats expected(static_cast<size_t>(n)), expected_dgate = before, expected_dup = before;
        gate(y.data(), g.data(), up.data(), n, act);
        gate_reference(expected.data(), g.data(), up.data(), n, act);
        expect_close(y.values(), expected, 1e-6);
        const bool add_up = n % 2 == 0;
        gate_backward({n, g.data(), up.data(), dy.data(), dgate.data(), dup.data(), !add_up, add_up, act});
        gate_backward_reference(
            {n, g.data(), up.data(), dy.data(), expected_dgate.data(), expected_dup.data(), !add_up, add_up, act});
        expect_close(dgate.values(), expected_dgate, 2e-6);
        expect_close(dup.values(), expected_dup, 2e-6);
      }
    }
  });
}

TEST(Activation, SameBitsEverywhere) {
  const Floats x = sweep(), dy = random_floats(static_cast<int64_t>(x.size()), 1);
  const int64_t n = static_cast<int64_t>(x.size());
  for (const Activation act : kAll) {
    expect_same_everywhere([&] { return value(x, act); });
    expect_same_everywhere([&] { return slope(x, act); });
    expect_same_everywhere([&] {
      Floats dgate(x.size()), dup(x.size());
      gate_backward({n, x.data(), dy.data(), dy.data(), dgate.data(), dup.data(), false, false, act});
      dgate.insert(dgate.end(), dup.begin(), dup.end());
      return dgate;
    });
  }
}

// Where exp() comes to its end, and one float further: nothing turns into NaN.
TEST(Activation, EveryFloatNearTheEndsOfExpIsANumber) {
  const std::pair<Activation, float> ends[] = {{Activation::kSilu, -88.7228394f},
                                               {Activation::kGeluTanh, -10.0609665f}};
  for (const auto& [act, end] : ends) {
    std::vector<float> x, y;
    float from = end;
    for (int i = 0; i < 4096; ++i) from = std::nextafter(from, 0.0f);
    for (int i = 0; i < 8192; ++i, from = std::nextafter(from, -1e9f)) x.push_back(from);
    y.resize(x.size());
    activate(y.data(), x.data(), static_cast<int64_t>(x.size()), act);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_LT(std::abs(y[i]), 1e-30f) << x[i];
  }
}

}  // namespace
}  // namespace heed::kernels
