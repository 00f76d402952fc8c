#include <algorithm>
#include <array>

#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

void copy_rows(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) std::copy_n(x + r * ldx, columns, y + r * ldy);
}

// y[..., j, ..., i, ...] = x[..., i, ..., j, ...] for dense x.
Tensor transposed_copy(const Tensor& x, int first, int second) {
  Shape shape = x.shape();
  std::swap(shape[first], shape[second]);
  Tensor y = Tensor::empty(shape);
  const int rank = shape.rank();
  std::array<int64_t, Shape::kMaxRank> strides{}, at{};
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= x.shape()[d];
  }
  std::swap(strides[first], strides[second]);
  int64_t from = 0;
  for (int64_t i = 0; i < y.numel(); ++i) {
    y.data()[i] = x.data()[from];
    for (int d = rank - 1; d >= 0; --d) {
      from += strides[d];
      if (++at[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return y;
}

}  // namespace

Tensor contiguous(const Tensor& x) {
  if (x.contiguous()) return x;
  Tensor y = Tensor::empty(x.shape());
  copy_rows(y.data(), y.ld(), x.data(), x.ld(), x.rows(), x.cols());
  on_backward(y, {x}, [x](const Tensor& dy) { x.add_grad(dy); });
  return y;
}

Tensor reshape(const Tensor& x_in, const Shape& shape) {
  const Tensor x = contiguous(x_in);
  if (shape.numel() != x.numel()) {
    fail("[reshape] {} to {}: {} elements, expected {}", x.shape().str(), shape.str(), shape.numel(), x.numel());
  }
  Tensor y = Tensor::view_of(x.node()->values, x.node()->offset, shape);
  on_backward(y, {x},
              [x](const Tensor& dy) { x.add_grad(Tensor::view_of(dy.node()->values, dy.node()->offset, x.shape())); });
  return y;
}

Tensor transpose(const Tensor& x_in, int first, int second) {
  const Tensor x = contiguous(x_in);
  const int rank = x.shape().rank();
  const int a = first < 0 ? first + rank : first, b = second < 0 ? second + rank : second;
  if (a < 0 || b < 0 || a >= rank || b >= rank) {
    fail("[transpose] dimensions {} and {} of shape {}", first, second, x.shape().str());
  }
  Tensor y = transposed_copy(x, a, b);
  on_backward(y, {x}, [x, a, b](const Tensor& dy) { x.add_grad(transposed_copy(dy, a, b)); });
  return y;
}

Tensor select_rows(const Tensor& x, std::span<const int32_t> rows) {
  const int64_t C = x.cols(), n = static_cast<int64_t>(rows.size());
  Tensor y = Tensor::empty({n, C});
  for (int64_t i = 0; i < n; ++i) {
    if (rows[i] < 0 || rows[i] >= x.rows()) fail("[select_rows] row {} of shape {}", rows[i], x.shape().str());
    std::copy_n(x.data() + rows[i] * x.ld(), C, y.data() + i * C);
  }
  on_backward(y, {x}, [x, C, kept = Kept(rows)](const Tensor& dy) {
    const GradTarget dx = x.zeroed_grad_target();
    const float* from = dy.data();
    for (const int32_t row : kept.all()) {
      for (int64_t c = 0; c < C; ++c) dx.data[row * dx.ld + c] += *from++;
    }
  });
  return y;
}

}  // namespace heed
