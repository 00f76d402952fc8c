// Softmax and log-softmax of each row of (T, C), stable for any finite input; -inf is "masked": a row of
// nothing but -inf gives zeros (softmax), never NaN.
#pragma once

#include <cstdint>

namespace heed::kernels {

void softmax(float* y, const float* x, int64_t T, int64_t C);
void softmax_reference(float* y, const float* x, int64_t T, int64_t C);
void log_softmax(float* y, const float* x, int64_t T, int64_t C);
void log_softmax_reference(float* y, const float* x, int64_t T, int64_t C);
// dx (+)= y * (dy - sum(y * dy))
void softmax_backward(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate);
void softmax_backward_reference(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate);
// dx (+)= dy - exp(y) * sum(dy)
void log_softmax_backward(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate);
void log_softmax_backward_reference(float* dx, const float* y, const float* dy, int64_t T, int64_t C, bool accumulate);

}  // namespace heed::kernels
