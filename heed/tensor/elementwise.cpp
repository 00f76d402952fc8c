#include "heed/kernels/elementwise.h"

#include <algorithm>
#include <array>

#include "heed/base/threads.h"
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

// Two operands seen as their broadcast result, neighbouring dimensions joined where both go on without a gap: the last
// dimension is a run, in which each of the two moves by one or stays.
struct Walk {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> size{}, a{}, b{};  // and strides
  int64_t run() const { return rank ? size[rank - 1] : 1; }
  int64_t runs = 1;

  Walk(const Shape& out, const Shape& shape_a, const Shape& shape_b) {
    const auto sa = broadcast_strides(shape_a, out), sb = broadcast_strides(shape_b, out);
    for (int d = 0; d < out.rank(); ++d) {
      if (out[d] == 1) continue;
      const bool joined = rank > 0 && a[rank - 1] == sa[d] * out[d] && b[rank - 1] == sb[d] * out[d];
      if (!joined) size[rank++] = 1;
      size[rank - 1] *= out[d];
      a[rank - 1] = sa[d], b[rank - 1] = sb[d];
    }
    for (int d = 0; d + 1 < rank; ++d) runs *= size[d];
  }

  // visit(index in out, in a, in b) where run r starts.
  template <class Visit>
  void visit(int64_t r, Visit visit_run) const {
    int64_t ia = 0, ib = 0, left = r;
    for (int d = rank - 2; d >= 0; --d) {
      ia += left % size[d] * a[d], ib += left % size[d] * b[d];
      left /= size[d];
    }
    visit_run(r * run(), ia, ib);
  }
  int64_t step_a() const { return rank ? a[rank - 1] : 0; }
  int64_t step_b() const { return rank ? b[rank - 1] : 0; }
};

// y[i] = f(y[i], a[..], b[..]) for every element, by threads where they are many. y lies like the result.
template <class F>
void each_pair(const Walk& w, float* y, const float* a, const float* b, F f) {
  constexpr int64_t kGrain = 16384;
  const int64_t n = w.run(), step_a = w.step_a(), step_b = w.step_b();
  const int64_t pieces = std::max<int64_t>(1, (n + kGrain - 1) / kGrain);  // of a run
  parallel_for(w.runs * pieces, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; ++p) {
                   const int64_t from = p % pieces * kGrain, to = std::min(n, from + kGrain);
                   w.visit(p / pieces, [&](int64_t i, int64_t ia, int64_t ib) {
                     // Apart, so that each is a plain loop over vectors.
                     if (step_a && step_b) {
                       for (int64_t j = from; j < to; ++j) y[i + j] = f(y[i + j], a[ia + j], b[ib + j]);
                     } else if (step_a) {
                       for (int64_t j = from; j < to; ++j) y[i + j] = f(y[i + j], a[ia + j], b[ib]);
                     } else {
                       for (int64_t j = from; j < to; ++j) y[i + j] = f(y[i + j], a[ia], b[ib + j * step_b]);
                     }
                   });
                 }
               });
}

// True where x is what dy is made of again and again: its dimensions are the last of dy's.
bool is_repeated(const Shape& x, const Shape& dy) {
  for (int d = 1; d <= x.rank(); ++d) {
    if (x[-d] != dy[-d]) return false;
  }
  return x.numel() > 0;
}

// dx += alpha dy, summed over what was repeated.
void add_reduced(const Tensor& x, const Tensor& dy, float alpha) {
  const GradTarget dx = x.zeroed_grad_target();
  if (!dx) return;
  const int64_t n = x.numel();
  if (is_repeated(x.shape(), dy.shape())) {
    if (alpha == 1) return kernels::sum_rows(dx.data, dy.data(), n, dy.numel() / n, n);
    const Scratch<float> sums(n);
    kernels::fill(sums.data(), 0, n);
    kernels::sum_rows(sums.data(), dy.data(), n, dy.numel() / n, n);
    return kernels::scale(dx.data, sums.data(), alpha, n, true);
  }
  const Walk w(dy.shape(), x.shape(), x.shape());
  for (int64_t r = 0; r < w.runs; ++r) {
    w.visit(r, [&](int64_t i, int64_t ix, int64_t) {
      for (int64_t j = 0; j < w.run(); ++j) dx.data[ix + j * w.step_a()] += alpha * dy.data()[i + j];
    });
  }
}

Tensor add_scaled(const char* op, const Tensor& a_in, const Tensor& b_in, float alpha) {
  const Tensor a = contiguous(a_in), b = contiguous(b_in);
  const Shape shape = broadcast(op, a.shape(), b.shape());
  Tensor y = Tensor::empty(shape);
  if (a.shape() == b.shape() && alpha == 1) {
    kernels::add(y.data(), a.data(), b.data(), y.numel());
  } else if (y.numel() > 0) {
    each_pair(Walk(shape, a.shape(), b.shape()), y.data(), a.data(), b.data(),
              [alpha](float, float p, float q) { return p + alpha * q; });
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

// The gradient of x in x * other: dy * other, summed over what was repeated.
void multiply_backward(const Tensor& x, const Tensor& other, const Tensor& dy) {
  if (!x.requires_grad()) return;
  if (x.shape() == dy.shape()) {
    const GradTarget dx = x.zeroed_grad_target();
    if (other.shape() == dy.shape()) return kernels::multiply_accumulate(dx.data, dy.data(), other.data(), dy.numel());
    return each_pair(Walk(dy.shape(), dy.shape(), other.shape()), dx.data, dy.data(), other.data(),
                     [](float d, float p, float q) { return d + p * q; });
  }
  const Tensor product = Tensor::empty(dy.shape());
  if (other.shape() == dy.shape()) {
    kernels::multiply(product.data(), dy.data(), other.data(), dy.numel());
  } else {
    each_pair(Walk(dy.shape(), dy.shape(), other.shape()), product.data(), dy.data(), other.data(),
              [](float, float p, float q) { return p * q; });
  }
  add_reduced(x, product, 1);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return add_scaled("add", a, b, 1); }

Tensor subtract(const Tensor& a, const Tensor& b) { return add_scaled("subtract", a, b, -1); }

Tensor multiply(const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = contiguous(a_in), b = contiguous(b_in);
  const Shape shape = broadcast("multiply", a.shape(), b.shape());
  Tensor y = Tensor::empty(shape);
  if (a.shape() == b.shape()) {
    kernels::multiply(y.data(), a.data(), b.data(), y.numel());
  } else if (y.numel() > 0) {
    each_pair(Walk(shape, a.shape(), b.shape()), y.data(), a.data(), b.data(),
              [](float, float p, float q) { return p * q; });
  }
  on_backward(y, {a, b}, [a, b](const Tensor& dy) {
    if (dy.numel() == 0) return;
    multiply_backward(a, b, dy);
    multiply_backward(b, a, dy);
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
