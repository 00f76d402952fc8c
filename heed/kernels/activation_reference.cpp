#include <cmath>

#include "heed/kernels/activation.h"

namespace heed::kernels {
namespace {

const double kRootTwoOverPi = std::sqrt(2 / std::acos(-1.0));

double value(double x, Activation act) {
  switch (act) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

double slope(double x, Activation act) {
  switch (act) {
    case Activation::kNone:
      return 1;
    case Activation::kRelu:
      return x > 0 ? 1 : 0;
    case Activation::kGelu:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) * kRootTwoOverPi / 2;
    case Activation::kGeluTanh: {
      const double t = std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * 0.044715 * x * x);
    }
    case Activation::kSilu: {
      const double s = 1 / (1 + std::exp(-x));
      return s * (1 + x * (1 - s));
    }
  }
  return 1;
}

void put(float& to, double v, bool accumulate) { to = static_cast<float>(accumulate ? to + v : v); }

}  // namespace

void activate_reference(float* y, const float* x, int64_t n, Activation act) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(value(x[i], act));
}

void activate_backward_reference(float* dx, const float* x, const float* dy, int64_t n, Activation act,
                                 bool accumulate) {
  for (int64_t i = 0; i < n; ++i) put(dx[i], dy[i] * slope(x[i], act), accumulate);
}

void gate_reference(float* y, const float* gate_in, const float* up, int64_t n, Activation act) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(value(gate_in[i], act) * up[i]);
}

void gate_backward_reference(const GateBackward& b) {
  for (int64_t i = 0; i < b.n; ++i) {
    const double g = b.gate_in[i], up = b.up[i], dy = b.dy[i];
    put(b.dgate[i], dy * up * slope(g, b.act), b.accumulate_gate);
    put(b.dup[i], dy * value(g, b.act), b.accumulate_up);
  }
}

}  // namespace heed::kernels
