#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/kernels/softmax.h"

namespace heed::kernels {
namespace {

// log(sum(exp(x))), -inf where every x is -inf
double log_sum_exp(const float* x, int64_t C) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t c = 0; c < C; ++c) top = std::max(top, static_cast<double>(x[c]));
  if (std::isinf(top)) return top;
  double total = 0;
  for (int64_t c = 0; c < C; ++c) total += std::exp(x[c] - top);
  return top + std::log(total);
}

void put(float& to, double value, bool accumulate) { to = static_cast<float>(accumulate ? to + value : value); }

}  // namespace

void softmax_reference(float* y, const float* x, int64_t T, int64_t C) {
  for (int64_t t = 0; t < T; ++t, y += C, x += C) {
    const double total = log_sum_exp(x, C);
    for (int64_t c = 0; c < C; ++c) y[c] = std::isinf(total) ? 0.0f : static_cast<float>(std::exp(x[c] - total));
  }
}

void log_softmax_reference(float* y, const float* x, int64_t T, int64_t C) {
  for (int64_t t = 0; t < T; ++t, y += C, x += C) {
    const double total = log_sum_exp(x, C);
    for (int64_t c = 0; c < C; ++c) y[c] = std::isinf(total) ? x[c] : static_cast<float>(x[c] - total);
  }
}

void softmax_backward_reference(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  for (int64_t t = 0; t < T; ++t, dx += C, y += C, dy += C) {
    double dot = 0;
    for (int64_t c = 0; c < C; ++c) dot += double{y[c]} * dy[c];
    for (int64_t c = 0; c < C; ++c) put(dx[c], y[c] * (dy[c] - dot), accumulate);
  }
}

void log_softmax_backward_reference(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate) {
  for (int64_t t = 0; t < T; ++t, dx += C, y += C, dy += C) {
    double total = 0;
    for (int64_t c = 0; c < C; ++c) total += dy[c];
    for (int64_t c = 0; c < C; ++c) put(dx[c], dy[c] - std::exp(double{y[c]}) * total, accumulate);
  }
}

}  // namespace heed::kernels
