#include <array>

#include "heed/kernels/gemm.h"
#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

// Which matrix of an operand belongs to batch entry i of the broadcast shape.
struct Batch {
  Shape lead;  // broadcast leading dimensions
  int64_t offset(const Shape& operand, int64_t entry) const {
    const Shape own = operand.without_last().without_last();
    int64_t index = 0, stride = 1;
    for (int d = 1; d <= lead.rank(); ++d) {
      const int64_t at = entry % lead[-d];
      entry /= lead[-d];
      if (d > own.rank()) continue;
      if (own[-d] != 1) index += at * stride;
      stride *= own[-d];
    }
    return index * operand[-1] * operand[-2];
  }
};

}  // namespace

Tensor matmul(const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = contiguous(a_in), b = contiguous(b_in);
  if (a.shape().rank() < 2 || b.shape().rank() < 2) {
    fail("[matmul] {} x {}: expected at least two dimensions each", a.shape().str(), b.shape().str());
  }
  const int64_t M = a.size(-2), K = a.size(-1), N = b.size(-1);
  if (b.size(-2) != K) fail("[matmul] inner sizes differ: {} x {}", a.shape().str(), b.shape().str());
  Batch batch{broadcast("matmul", a.shape().without_last().without_last(), b.shape().without_last().without_last())};
  Shape shape = batch.lead;
  shape.append(M).append(N);
  Tensor y = Tensor::empty(shape);
  const Precision precision = current_precision();
  const int64_t entries = batch.lead.numel();
  for (int64_t i = 0; i < entries; ++i) {
    kernels::gemm({.M = M,
                   .N = N,
                   .K = K,
                   .a = {a.data() + batch.offset(a.shape(), i), K},
                   .b = {b.data() + batch.offset(b.shape(), i), N},
                   .c = y.data() + i * M * N,
                   .ldc = N,
                   .precision = precision});
  }
  on_backward(y, {a, b}, [=](const Tensor& dy) {
    const GradTarget da = a.zeroed_grad_target(), db = b.zeroed_grad_target();
    for (int64_t i = 0; i < entries; ++i) {
      const int64_t at_a = batch.offset(a.shape(), i), at_b = batch.offset(b.shape(), i);
      const float* g = dy.data() + i * M * N;
      if (da) {
        kernels::gemm({.M = M,
                       .N = K,
                       .K = N,
                       .a = {g, N},
                       .b = {b.data() + at_b, N, true},
                       .c = da.data + at_a,
                       .ldc = K,
                       .accumulate = true,
                       .precision = precision});
      }
      if (db) {
        kernels::gemm({.M = K,
                       .N = N,
                       .K = M,
                       .a = {a.data() + at_a, K, true},
                       .b = {g, N},
                       .c = db.data + at_b,
                       .ldc = N,
                       .accumulate = true,
                       .precision = precision});
      }
    }
  });
  return y;
}

}  // namespace heed
