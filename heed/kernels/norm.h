// LayerNorm and RMSNorm over the features of each row. x, y, dy, dx: (T, C); gain, bias: (C)
// The backward reads what the forward left: mean (T) and rstd (T).
#pragma once

#include <cstdint>

namespace heed::kernels {

struct LayerNormForward {
  int64_t T, C;
  const float *x, *gain, *bias;  // bias may be null
  float eps;
  float *y, *mean, *rstd;
};
void layer_norm(const LayerNormForward& f);
void layer_norm_reference(const LayerNormForward& f);

struct LayerNormBackward {
  int64_t T, C;
  const float *x, *gain, *mean, *rstd, *dy;
  float* dx;             // may be null: not wanted
  bool accumulate_dx;    // add to dx instead of writing it
  float *dgain, *dbias;  // always added to; either may be null
};
void layer_norm_backward(const LayerNormBackward& b);
void layer_norm_backward_reference(const LayerNormBackward& b);

struct RmsNormForward {
  int64_t T, C;
  const float *x, *gain;
  float eps;
  float *y, *rstd;
};
void rms_norm(const RmsNormForward& f);
void rms_norm_reference(const RmsNormForward& f);

struct RmsNormBackward {
  int64_t T, C;
  const float *x, *gain, *rstd, *dy;
  float* dx;
  bool accumulate_dx;
  float* dgain;
};
void rms_norm_backward(const RmsNormBackward& b);
void rms_norm_backward_reference(const RmsNormBackward& b);

}  // namespace heed::kernels
