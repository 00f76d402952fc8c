#include "heed/kernels/elementwise.h"

#include <array>

#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

// Strides of `shape` seen as `out`: 0 where it is repeated.
std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& shape, const Shape& out) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int i = 1; i <= shape.rank(); ++i) {
    strides[out.rank() - i] = shape[-i] == 1 ? 0 : stride;
    stride *= shape[-i];
  }
  return strides;
}

// visit(flat index in out, index in a, index in b) for every element of out in order.
template <class Visit>
void for_each_pair(const Shape& out, const Shape& a, const Shape& b, Visit visit) {
  const auto sa = broadcast_strides(a, out), sb = broadcast_strides(b, out);
  std::array<int64_t, Shape::kMaxRank> at{};
  int64_t ia = 0, ib = 0;
  const int64_t n = out.numel();
  for (int64_t i = 0; i < n; ++i) {
    visit(i, ia, ib);
    for (int d = out.rank() - 1; d >= 0; --d) {
      ia += sa[d], ib += sb[d];
      if (++at[d] < out[d]) break;
      ia -= sa[d] * out[d], ib -= sb[d] * out[d];
      at[d] = 0;
    }
  }
}

// dx += factor-weighted gradient, summed over what was repeated.
void add_reduced(const Tensor& x, const Tensor& dy, float alpha) {
  const GradTarget dx = x.zeroed_grad_target();
  if (!dx) return;
  if (x.shape().rank() == 1 && x.cols() == dy.cols() && alpha == 1) {
    kernels::sum_rows(dx.data, dy.data(), dy.cols(), dy.rows(), dy.cols());
    return;
  }
  for_each_pair(dy.shape(), x.shape(), x.shape(), [&](int64_t i, int64_t ix, int64_t) { dx.data[ix] += alpha * dy.data()[i]; });
}

Tensor add_scaled(const char* op, const Tensor& a_in, const Tensor& b_in, float alpha) {
  const Tensor a = contiguous(a_in), b = contiguous(b_in);
  const Shape shape = broadcast(op, a.shape(), b.shape());
  Tensor y = Tensor::empty(shape);
  const bool same = a.shape() == b.shape();
  if (same && alpha == 1) {
    kernels::add(y.data(), a.data(), b.data(), y.numel());
  } else {
    for_each_pair(shape, a.shape(), b.shape(),
                  [&](int64_t i, int64_t ia, int64_t ib) { y.data()[i] = a.data()[ia] + alpha * b.data()[ib]; });
  }
  on_backward(y, {a, b}, [a, b, alpha](const Tensor& dy) {
    if (a.shape() == dy.shape()) {
      a.add_grad(dy);
    } else {
      add_reduced(a, dy, 1);
    }
    if (b.shape() == dy.shape() && alpha == 1) {
      b.add_grad(dy);
    } else {
      add_reduced(b, dy, alpha);
    }
  });
  return y;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return add_scaled("add", a, b, 1); }

Tensor subtract(const Tensor& a, const Tensor& b) { return add_scaled("subtract", a, b, -1); }

Tensor multiply(const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = contiguous(a_in), b = contiguous(b_in);
  const Shape shape = broadcast("multiply", a.shape(), b.shape());
  Tensor y = Tensor::empty(shape);
  for_each_pair(shape, a.shape(), b.shape(),
                [&](int64_t i, int64_t ia, int64_t ib) { y.data()[i] = a.data()[ia] * b.data()[ib]; });
  on_backward(y, {a, b}, [a, b](const Tensor& dy) {
    const GradTarget da = a.zeroed_grad_target(), db = b.zeroed_grad_target();
    for_each_pair(dy.shape(), a.shape(), b.shape(), [&](int64_t i, int64_t ia, int64_t ib) {
      if (da) da.data[ia] += dy.data()[i] * b.data()[ib];
      if (db) db.data[ib] += dy.data()[i] * a.data()[ia];
    });
  });
  return y;
}

Tensor scale(const Tensor& x_in, float alpha) {
  const Tensor x = contiguous(x_in);
  Tensor y = Tensor::empty(x.shape());
  kernels::scale(y.data(), x.data(), alpha, x.numel(), false);
  on_backward(y, {x}, [x, alpha](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::scale(dx.data, dy.data(), alpha, dy.numel(), dx.accumulate);
  });
  return y;
}

Tensor sum(const Tensor& x_in) {
  const Tensor x = contiguous(x_in);
  Tensor y = Tensor::scalar(static_cast<float>(kernels::sum(x.data(), x.numel())));
  on_backward(y, {x}, [x](const Tensor& dy) {
    const GradTarget dx = x.zeroed_grad_target();
    for (int64_t i = 0; i < x.numel(); ++i) dx.data[i] += dy.item();
  });
  return y;
}

Tensor mean(const Tensor& x) {
  if (x.numel() == 0) fail("[mean] of no elements: shape {}", x.shape().str());
  return scale(sum(x), 1.0f / static_cast<float>(x.numel()));
}

}  // namespace heed
