#include "heed/tensor/linear.h"

#include "heed/kernels/elementwise.h"
#include "heed/kernels/quantised.h"
#include "heed/tensor/op_check.h"

namespace heed {
namespace detail {

using kernels::Operand;

void check_linear(const char* op, const Tensor& x, const LinearWeight& w) {
  check_rank(op, "weight", w.weight, 2);
  check_columns(op, "input", x, w.in());
  if (w.bias) check_shape(op, "bias", w.bias, {w.out()});
  const StoredNumbers* stored = w.weight.stored();
  if (!stored || !kernels::is_quantised(stored->type)) return;
  if (w.layout != WeightLayout::kOutIn) fail("[{}] weights of {}: expected (out, in)", op, name(stored->type));
  if (x.requires_grad() && grad_enabled())
    fail("[{}] no gradient passes through weights of {}", op, name(stored->type));
}

Operand operand_of(const LinearWeight& w) {
  const bool out_in = w.layout == WeightLayout::kOutIn;
  if (const StoredNumbers* s = w.weight.stored()) return {s->data, s->ld, out_in, s->type};
  return {w.weight.data(), w.weight.ld(), out_in};
}

bool in_halves(const Tensor& weight) { return weight.stored() && weight.stored()->in_halves; }

void linear_forward(float* y, int64_t ldy, const Rows& x, const LinearWeight& w, const Finish* finish) {
  kernels::gemm({.M = x.rows,
                 .N = w.out(),
                 .K = w.in(),
                 .a = Operand{x.data, x.ld},
                 .b = operand_of(w),
                 .c = y,
                 .ldc = ldy,
                 .bias = w.bias ? w.bias.data() : nullptr,
                 .finish = finish,
                 .precision = current_precision(),
                 .halves = in_halves(w.weight)});
}

void linear_backward_input(const GradTarget& dx, const Rows& dy, const LinearWeight& w, Precision precision,
                           const Finish* finish) {
  if (!dx) return;
  Operand turned = operand_of(w);
  turned.transposed = !turned.transposed;
  kernels::gemm({.M = dy.rows,
                 .N = w.in(),
                 .K = w.out(),
                 .a = Operand{dy.data, dy.ld},
                 .b = turned,
                 .c = dx.data,
                 .ldc = dx.ld,
                 .accumulate = dx.accumulate,
                 .finish = finish,
                 .precision = precision});
}

void linear_backward_weight(const LinearWeight& w, const Rows& x, const Rows& dy, Precision precision) {
  if (const GradTarget dw = w.weight.grad_target()) {
    const bool out_in = w.layout == WeightLayout::kOutIn;
    const Operand rows_a = out_in ? Operand{dy.data, dy.ld, true} : Operand{x.data, x.ld, true};
    const Operand rows_b = out_in ? Operand{x.data, x.ld} : Operand{dy.data, dy.ld};
    kernels::gemm({.M = w.weight.size(0),
                   .N = w.weight.size(1),
                   .K = x.rows,
                   .a = rows_a,
                   .b = rows_b,
                   .c = dw.data,
                   .ldc = dw.ld,
                   .accumulate = dw.accumulate,
                   .precision = precision});
  }
  if (const GradTarget db = w.bias.zeroed_grad_target()) kernels::sum_rows(db.data, dy.data, dy.ld, dy.rows, w.out());
}

}  // namespace detail

using detail::Finish;
using detail::Rows;
using kernels::Tile;

namespace {

// dy * act'(pre), in dy's own memory where nobody else reads it.
Tensor through_activation(const Tensor& dy, const Tensor& pre, Activation act) {
  if (act == Activation::kNone) return dy;
  const Tensor dpre = dy.node()->values.unique() ? dy : Tensor::empty(dy.shape());
  kernels::activate_backward(dpre.data(), pre.data(), dy.data(), dy.numel(), act, false);
  return dpre;
}

// The derivative of ReLU can be told from its output; the others need their input kept.
bool keeps_input(Activation act) { return act != Activation::kNone && act != Activation::kRelu; }

// Maps whose weights, biases and gradients lie one after the other in memory are one map; while only some columns of a
// gradient are written, the rest of it is not like its neighbours.
bool follows(const Tensor& a, const Tensor& b) {
  if (!a || !b) return !a && !b;
  const auto &na = *a.node(), &nb = *b.node();
  if (b.data() != a.data() + a.numel() || !(na.values == nb.values)) return false;
  if (!na.requires_grad && !nb.requires_grad) return true;
  return na.requires_grad && nb.requires_grad && na.grad_shared && nb.grad_shared && na.grad == nb.grad &&
         nb.grad_offset == na.grad_offset + a.numel() && na.grad_written == nb.grad_written && na.n_written == 0 &&
         nb.n_written == 0;
}

// Bytes from the first output of a stored map to that of the map behind it.
int64_t stored_bytes(const LinearWeight& w, const StoredNumbers& s) {
  if (kernels::is_quantised(s.type)) {
    return w.out() % kernels::kTileOutputs ? -1 : kernels::quantised_bytes(s.type, w.out(), w.in());
  }
  const int64_t size = s.type == kernels::NumberType::kF32 ? 4 : 2;
  return size * w.out() * (w.layout == WeightLayout::kOutIn ? s.ld : 1);
}

bool follows(const LinearWeight& a, const LinearWeight& b) {
  const StoredNumbers *sa = a.weight.stored(), *sb = b.weight.stored();
  if (!sa && !sb) return a.layout == WeightLayout::kOutIn && follows(a.weight, b.weight);
  if (!sa || !sb || sa->type != sb->type || sa->ld != sb->ld || sa->owner != sb->owner) return false;
  return static_cast<const std::byte*>(sb->data) == static_cast<const std::byte*>(sa->data) + stored_bytes(a, *sa);
}

bool one_in_memory(std::span<const LinearWeight> maps) {
  for (size_t i = 0; i < maps.size(); ++i) {
    const bool stored = maps[i].weight.stored() != nullptr;
    if (maps[i].layout != maps[0].layout || (!stored && maps[i].layout != WeightLayout::kOutIn)) return false;
    if (i && (!follows(maps[i - 1], maps[i]) || !follows(maps[i - 1].bias, maps[i].bias))) return false;
  }
  return true;
}

// Joined weights as tensors over the same memory.
Tensor join(const Tensor& first, const Shape& shape) {
  if (!first) return {};
  if (const StoredNumbers* stored = first.stored()) {
    Tensor whole = Tensor::view_of(Buffer(), 0, shape);
    whole.set_stored(*stored);
    return whole;
  }
  return Tensor::view_of(first.node()->values, first.node()->offset, shape);
}

// Maps that lie one after the other as one of `total` outputs.
LinearWeight join(std::span<const LinearWeight> maps, int64_t total) {
  const LinearWeight& first = maps[0];
  const bool out_in = first.layout == WeightLayout::kOutIn;
  return {join(first.weight, out_in ? Shape{total, first.in()} : Shape{first.in(), total}), join(first.bias, {total}),
          first.layout};
}

struct SideBySide {
  static constexpr size_t kMost = 4;
  std::array<LinearWeight, kMost> held;
  size_t count = 0;
  int64_t total = 0;
  std::span<const LinearWeight> maps() const { return {held.data(), count}; }

  void forward(const Tensor& x, const Tensor& y) const {
    if (one_in_memory(maps())) {
      detail::linear_forward(y.data(), y.ld(), detail::rows_of(x), join(maps(), total));
      return;
    }
    int64_t column = 0;
    for (const LinearWeight& map : maps()) {
      detail::linear_forward(y.data() + column, y.ld(), detail::rows_of(x), map);
      column += map.out();
    }
  }

  void backward(const Tensor& x, const Tensor& dy, Precision precision) const {
    if (one_in_memory(maps()) && held[0].weight.requires_grad()) {
      backward_as_one(x, dy, precision);
      return;
    }
    int64_t column = 0;
    for (const LinearWeight& map : maps()) {
      const Rows part{dy.data() + column, dy.ld(), dy.rows()};
      detail::linear_backward_weight(map, detail::rows_of(x), part, precision);
      detail::linear_backward_input(x.grad_target(), part, map, precision);
      column += map.out();
    }
  }

  void backward_as_one(const Tensor& x, const Tensor& dy, Precision precision) const {
    detail::linear_backward_input(x.grad_target(), detail::rows_of(dy), join(maps(), total), precision);
    // Asking every part for its target marks all of them as written; the first part's memory starts the whole.
    const GradTarget dw = held[0].weight.grad_target(), db = held[0].bias.grad_target();
    for (size_t i = 1; i < count; ++i) {
      held[i].weight.grad_target();
      held[i].bias.grad_target();
    }
    kernels::gemm({.M = total,
                   .N = held[0].in(),
                   .K = x.rows(),
                   .a = {dy.data(), dy.ld(), true},
                   .b = {x.data(), x.ld()},
                   .c = dw.data,
                   .ldc = dw.ld,
                   .accumulate = dw.accumulate,
                   .precision = precision});
    if (!db) return;
    if (!db.accumulate) kernels::fill(db.data, 0, total);
    kernels::sum_rows(db.data, dy.data(), dy.ld(), dy.rows(), total);
  }
};

}  // namespace

Tensor linear(const Tensor& x, const LinearWeight& w, Activation act) {
  detail::check_linear("linear", x, w);
  const Precision precision = current_precision();
  Tensor y = Tensor::empty(x.shape().with_last(w.out()));
  const Tensor pre = keeps_input(act) ? Tensor::empty(y.shape()) : y.detach();
  const int64_t ld = w.out();
  const auto finish_tile = [&](const Tile& t) {
    kernels::activate_rows(y.data() + t.row * ld + t.column, ld, t.c, t.ldc, t.rows, t.columns, act);
  };
  const Finish finish(finish_tile);
  detail::linear_forward(pre.data(), ld, detail::rows_of(x), w, act == Activation::kNone ? nullptr : &finish);
  const Tensor kept = act == Activation::kNone ? Tensor() : pre;
  on_backward(y, {x, w.weight, w.bias}, [x, w, kept, act, precision](const Tensor& dy) {
    const Tensor dpre = through_activation(dy, kept, act);
    detail::linear_backward_weight(w, detail::rows_of(x), detail::rows_of(dpre), precision);
    detail::linear_backward_input(x.grad_target(), detail::rows_of(dpre), w, precision);
  });
  return y;
}

Tensor linear_side_by_side(const Tensor& x, std::span<const LinearWeight> maps) {
  SideBySide all;
  std::array<Tensor, detail::Node::kMaxInputs> inputs;
  int n = 0;
  inputs[n++] = x;
  if (maps.empty() || maps.size() > SideBySide::kMost) {
    fail("[linear_side_by_side] {} maps: expected 1 to {}", maps.size(), SideBySide::kMost);
  }
  for (const LinearWeight& map : maps) {
    detail::check_linear("linear_side_by_side", x, map);
    all.held[all.count++] = map;
    all.total += map.out();
    inputs[n++] = map.weight;
    inputs[n++] = map.bias;
  }
  Tensor y = Tensor::empty(x.shape().with_last(all.total));
  all.forward(x, y);
  if (detail::record(y, inputs.data(), n)) {
    auto back = [x, all, precision = current_precision()](const Tensor& dy) { all.backward(x, dy, precision); };
    y.node()->backward = new detail::BackwardOf<decltype(back)>(std::move(back));
  }
  return y;
}

}  // namespace heed
