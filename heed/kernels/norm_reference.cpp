#include <cmath>

#include "heed/kernels/norm.h"

namespace heed::kernels {
namespace {

// A row of either norm in double: xhat_c = (x_c - mean) * rstd, mean being 0 for RMSNorm.
struct Row {
  const float *x, *gain, *dy;
  double mean, rstd;
  int64_t C;
  double normal(int64_t c) const { return (x[c] - mean) * rstd; }
  double gained(int64_t c) const { return double{dy[c]} * gain[c]; }
};

void backward_row(const Row& r, bool centred, float* dx, bool accumulate) {
  double plain = 0, with_normal = 0;
  for (int64_t c = 0; c < r.C; ++c) {
    plain += r.gained(c) / r.C;
    with_normal += r.gained(c) * r.normal(c) / r.C;
  }
  for (int64_t c = 0; c < r.C; ++c) {
    const double d = r.rstd * (r.gained(c) - (centred ? plain : 0) - r.normal(c) * with_normal);
    dx[c] = static_cast<float>(accumulate ? dx[c] + d : d);
  }
}

}  // namespace

void layer_norm_reference(const LayerNormForward& f) {
  for (int64_t t = 0; t < f.T; ++t) {
    const float* x = f.x + t * f.C;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < f.C; ++c) mean += x[c];
    mean /= f.C;
    for (int64_t c = 0; c < f.C; ++c) variance += (x[c] - mean) * (x[c] - mean);
    variance /= f.C;
    const double rstd = 1 / std::sqrt(variance + f.eps);
    f.mean[t] = static_cast<float>(mean);
    f.rstd[t] = static_cast<float>(rstd);
    for (int64_t c = 0; c < f.C; ++c) {
      f.y[t * f.C + c] = static_cast<float>((x[c] - mean) * rstd * f.gain[c] + (f.bias ? f.bias[c] : 0));
    }
  }
}

void layer_norm_backward_reference(const LayerNormBackward& b) {
  for (int64_t t = 0; t < b.T; ++t) {
    const Row row{b.x + t * b.C, b.gain, b.dy + t * b.C, b.mean[t], b.rstd[t], b.C};
    for (int64_t c = 0; c < b.C; ++c) {
      if (b.dgain) b.dgain[c] += static_cast<float>(row.dy[c] * row.normal(c));
      if (b.dbias) b.dbias[c] += row.dy[c];
    }
    if (b.dx) backward_row(row, true, b.dx + t * b.C, b.accumulate_dx);
  }
}

void rms_norm_reference(const RmsNormForward& f) {
  for (int64_t t = 0; t < f.T; ++t) {
    const float* x = f.x + t * f.C;
    double squares = 0;
    for (int64_t c = 0; c < f.C; ++c) squares += double{x[c]} * x[c];
    const double rstd = 1 / std::sqrt(squares / f.C + f.eps);
    f.rstd[t] = static_cast<float>(rstd);
    for (int64_t c = 0; c < f.C; ++c) f.y[t * f.C + c] = static_cast<float>(x[c] * rstd * f.gain[c]);
  }
}

void rms_norm_backward_reference(const RmsNormBackward& b) {
  for (int64_t t = 0; t < b.T; ++t) {
    const Row row{b.x + t * b.C, b.gain, b.dy + t * b.C, 0, b.rstd[t], b.C};
    for (int64_t c = 0; c < b.C && b.dgain; ++c) b.dgain[c] += static_cast<float>(row.dy[c] * row.normal(c));
    if (b.dx) backward_row(row, false, b.dx + t * b.C, b.accumulate_dx);
  }
}

}  // namespace heed::kernels
