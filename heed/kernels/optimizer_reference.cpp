#include <cmath>

#include "heed/kernels/optimizer.h"

namespace heed::kernels {

double norm2_reference(const float* g, int64_t n) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += double{g[i]} * g[i];
  return std::sqrt(squares);
}

void adam_reference(const AdamStep& s) {
  const double beta1 = s.beta1, beta2 = s.beta2, step = static_cast<double>(s.step);
  for (int64_t i = 0; i < s.n; ++i) {
    const double g = double{s.g[i]} * s.grad_scale;
    const double m = beta1 * s.m[i] + (1 - beta1) * g, v = beta2 * s.v[i] + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, step)), v_hat = v / (1 - std::pow(beta2, step));
    const double w = s.w[i] - s.lr * s.weight_decay * s.w[i];
    s.w[i] = static_cast<float>(w - s.lr * m_hat / (std::sqrt(v_hat) + s.eps));
    s.m[i] = static_cast<float>(m);
    s.v[i] = static_cast<float>(v);
  }
}

void sgd_reference(const SgdStep& s) {
  for (int64_t i = 0; i < s.n; ++i) {
    double g = double{s.g[i]} * s.grad_scale + double{s.weight_decay} * s.w[i];
    if (s.momentum) {
      g += double{s.mu} * s.momentum[i];
      s.momentum[i] = static_cast<float>(g);
    }
    s.w[i] = static_cast<float>(s.w[i] - s.lr * g);
  }
}

void moving_average_reference(float* average, const float* w, float keep, int64_t n) {
  for (int64_t i = 0; i < n; ++i) average[i] = keep * average[i] + (1 - keep) * w[i];
}

}  // namespace heed::kernels
