// The plain ones: n numbers each, threaded.
#pragma once

#include <cstdint>

namespace heed::kernels {

void fill(float* y, float value, int64_t n);
void copy(float* y, const float* x, int64_t n);
void add(float* y, const float* a, const float* b, int64_t n);                  // y = a + b
void multiply(float* y, const float* a, const float* b, int64_t n);             // y = a * b
void scale(float* y, const float* x, float alpha, int64_t n, bool accumulate);  // y (+)= alpha * x
void multiply_accumulate(float* y, const float* a, const float* b, int64_t n);  // y += a * b
// y[c] += sum over t of x[t, c], in fixed pieces of rows summed in order; x: (T, C) with row stride ld
void sum_rows(float* y, const float* x, int64_t ld, int64_t T, int64_t C);
double sum(const float* x, int64_t n);

}  // namespace heed::kernels
