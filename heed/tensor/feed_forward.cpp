#include "heed/kernels/elementwise.h"
#include "heed/tensor/linear.h"
#include "heed/tensor/op_check.h"

namespace heed {

using detail::Finish;
using detail::rows_of;
using kernels::Tile;

namespace {

// What the forward leaves for the backward. With ReLU the output tells which units were live and kept.
struct Hidden {
  Tensor pre;   // (T, F) before the activation; empty for ReLU
  Tensor out;   // (T, F) after activation and dropout
  Tensor keep;  // bits of the dropout, two floats a word
  const uint64_t* bits() const { return keep ? reinterpret_cast<const uint64_t*>(keep.data()) : nullptr; }
};

Hidden expand(const Tensor& x, const FeedForwardArgs& a, const Spans& spans) {
  const int64_t T = x.rows(), F = a.up.out();
  const bool relu = a.act == Activation::kRelu;
  Hidden h;
  h.out = Tensor::empty({T, F});
  if (!relu) h.pre = Tensor::empty({T, F});
  if (a.dropout.p > 0) {
    h.keep = Tensor::empty({T, 2 * kernels::mask_words(F)});
    kernels::dropout_mask(reinterpret_cast<uint64_t*>(h.keep.data()), spans.row_ids(), T, F, a.dropout);
  }
  const auto finish_tile = [&](const Tile& t) {
    float* out = h.out.data() + t.row * F + t.column;
    kernels::activate_rows(out, F, t.c, t.ldc, t.rows, t.columns, a.act);
    if (h.keep) kernels::apply_mask_tile({out, F, h.bits(), F, t.row, t.column, t.rows, t.columns, a.dropout.p});
  };
  const Finish finish(finish_tile);
  detail::linear_forward(relu ? h.out.data() : h.pre.data(), F, rows_of(x), a.up, &finish);
  return h;
}

// The gradient before the activation, in the same sweep as the product that brings it.
Tensor gradient_of_hidden(const Tensor& dy, const Hidden& h, const FeedForwardArgs& a, Precision precision) {
  const int64_t F = a.up.out();
  const Tensor dh = Tensor::empty({dy.rows(), F});
  const Tensor& input = h.pre ? h.pre : h.out;
  const auto finish_tile = [&](const Tile& t) {
    if (h.keep) kernels::apply_mask_tile({t.c, t.ldc, h.bits(), F, t.row, t.column, t.rows, t.columns, a.dropout.p});
    kernels::scale_by_derivative_rows(t.c, t.ldc, input.data() + t.row * F + t.column, F, t.rows, t.columns, a.act);
  };
  const Finish finish(finish_tile);
  detail::linear_backward_input({dh.data(), F, false}, rows_of(dy), a.down, precision, &finish);
  return dh;
}

}  // namespace

Tensor feed_forward(const Tensor& x, const FeedForwardArgs& a, const Spans& spans) {
  detail::check_linear("feed_forward", x, a.up);
  check_rank("feed_forward", "weight of down", a.down.weight, 2);
  if (a.down.bias) check_shape("feed_forward", "bias of down", a.down.bias, {a.down.out()});
  if (a.down.in() != a.up.out()) {
    fail("[feed_forward] down takes {} features: expected {}, what up gives", a.down.in(), a.up.out());
  }
  check_dropout("feed_forward", x, spans, a.dropout);
  const Hidden h = expand(x, a, spans);
  Tensor y = Tensor::empty(x.shape().with_last(a.down.out()));
  detail::linear_forward(y.data(), y.ld(), rows_of(h.out), a.down);
  on_backward(y, {x, a.up.weight, a.up.bias, a.down.weight, a.down.bias},
              [x, a, h, precision = current_precision()](const Tensor& dy) {
                detail::linear_backward_weight(a.down, rows_of(h.out), rows_of(dy), precision);
                const Tensor dh = gradient_of_hidden(dy, h, a, precision);
                detail::linear_backward_weight(a.up, rows_of(x), rows_of(dh), precision);
                detail::linear_backward_input(x.grad_target(), rows_of(dh), a.up, precision);
              });
  return y;
}

}  // namespace heed
