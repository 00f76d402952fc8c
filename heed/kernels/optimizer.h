// One pass over the arena of parameters: clip and step. n floats each.
#pragma once

#include <cstdint>

namespace heed::kernels {

// Euclidean norm, summed in double over fixed pieces: the same at any number of threads.
double norm2(const float* g, int64_t n);
double norm2_reference(const float* g, int64_t n);

struct AdamStep {
  int64_t n;
  float *w, *m, *v;
  const float* g;
  double lr, beta1, beta2, eps;  // double: 1 - beta loses half its digits in float
  double weight_decay;           // decoupled (AdamW): w -= lr * weight_decay * w before the step; 0 for Adam
  int64_t step;                  // 1 at the first step; bias correction uses it
  float grad_scale = 1;          // from clipping
};
void adam(const AdamStep& s);
void adam_reference(const AdamStep& s);

struct SgdStep {
  int64_t n;
  float *w, *momentum;  // momentum may be null when mu is 0
  const float* g;
  float lr, mu, weight_decay, grad_scale;  // as torch.optim.SGD: g += wd * w; m = mu * m + g; w -= lr * m
};
void sgd(const SgdStep& s);
void sgd_reference(const SgdStep& s);

// An exponential one: average = keep * average + (1 - keep) * w.
void moving_average(float* average, const float* w, float keep, int64_t n);
void moving_average_reference(float* average, const float* w, float keep, int64_t n);

}  // namespace heed::kernels
