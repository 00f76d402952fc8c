// The three products of a linear map, shared by the ops that contain one.
#pragma once

#include "heed/tensor/ops.h"

namespace heed::detail {

using Finish = FunctionRef<void(const kernels::Tile&)>;

// A (rows, columns) matrix in memory.
struct Rows {
  const float* data;
  int64_t ld, rows;
};
inline Rows rows_of(const Tensor& x) { return {x.data(), x.ld(), x.rows()}; }

// The weight as b of x W.
kernels::Operand operand_of(const LinearWeight& w);

void check_linear(const char* op, const Tensor& x, const LinearWeight& w);

// y = x W + b
void linear_forward(float* y, int64_t ldy, const Rows& x, const LinearWeight& w, const Finish* finish = nullptr);
// dx (+)= dy W^T
void linear_backward_input(const GradTarget& dx, const Rows& dy, const LinearWeight& w, Precision precision,
                           const Finish* finish = nullptr);
// dW += x^T dy, db += sum of dy's rows
void linear_backward_weight(const LinearWeight& w, const Rows& x, const Rows& dy, Precision precision);

}  // namespace heed::detail
