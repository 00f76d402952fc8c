#include "heed/kernels/elementwise.h"
#include "heed/tensor/linear.h"
#include "heed/tensor/op_check.h"

namespace heed {

using detail::Rows;
using detail::rows_of;

namespace {

// y itself where no other tensor and no backward reads its numbers, else a copy.
Tensor to_add_to(const Tensor& y) {
  if (y.node()->owners == 1 && y.node()->values.unique() && y.contiguous()) return y.detach();
  const Tensor copy = Tensor::empty(y.shape());
  for (int64_t r = 0; r < y.rows(); ++r) kernels::copy(copy.data() + r * copy.ld(), y.data() + r * y.ld(), y.cols());
  return copy;
}

}  // namespace

// By value: a tensor moved in may be written over, one that the caller keeps may not.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Tensor add_low_rank(Tensor y, const Tensor& x, const LowRankWeight& w) {
  const LinearWeight down{w.a, Tensor()}, up{w.b, Tensor()};
  detail::check_linear("add_low_rank", x, down);
  check_rank("add_low_rank", "b", w.b, 2);
  if (up.in() != down.out()) fail("[add_low_rank] a of rank {} and b of rank {}", down.out(), up.in());
  check_rows("add_low_rank", "y", y, x.rows());
  if (w.column < 0 || w.column + up.out() > y.cols()) {
    fail("[add_low_rank] {} columns from {} on: y has {}", up.out(), w.column, y.cols());
  }
  const Precision precision = current_precision();
  const Tensor h = Tensor::empty({x.rows(), down.out()});  // scale x A^T
  detail::linear_forward(h.data(), h.ld(), rows_of(x), down);
  kernels::scale(h.data(), h.data(), w.scale, h.numel(), false);
  Tensor sum = to_add_to(y);
  kernels::gemm({.M = x.rows(),
                 .N = up.out(),
                 .K = up.in(),
                 .a = {h.data(), h.ld()},
                 .b = detail::operand_of(up),
                 .c = sum.data() + w.column,
                 .ldc = sum.ld(),
                 .accumulate = true,
                 .precision = precision});
  on_backward(sum, {y, x, w.a, w.b}, [y, x, down, up, h, scale = w.scale, at = w.column, precision](const Tensor& dy) {
    const Rows part{dy.data() + at, dy.ld(), dy.rows()};
    detail::linear_backward_weight(up, rows_of(h), part, precision);
    const Tensor dh = Tensor::empty(h.shape());
    detail::linear_backward_input({dh.data(), dh.ld(), false}, part, up, precision);
    kernels::scale(dh.data(), dh.data(), scale, dh.numel(), false);
    detail::linear_backward_weight(down, rows_of(x), rows_of(dh), precision);
    detail::linear_backward_input(x.grad_target(), rows_of(dh), down, precision);
    y.add_grad(dy);
  });
  return sum;
}

}  // namespace heed
