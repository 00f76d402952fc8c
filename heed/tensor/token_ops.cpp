// Ops that know the tokens of a ragged batch: embedding, dropout, residual, rotary, head gains, pooling.
#include "heed/kernels/elementwise.h"
#include "heed/kernels/embedding.h"
#include "heed/kernels/rotary.h"
#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

// The bits of a dropout, kept for its backward; two floats a word.
Tensor new_mask(int64_t T, int64_t C) { return Tensor::empty({T, 2 * kernels::mask_words(C)}); }
uint64_t* bits(const Tensor& mask) { return reinterpret_cast<uint64_t*>(mask.data()); }

}  // namespace

Tensor embedding(const Tensor& table_in, std::span<const int32_t> ids, const EmbeddingArgs& args) {
  check_rank("embedding", "table", table_in, 2);
  const Tensor table = table_in.stored() ? table_in : contiguous(table_in);
  const int64_t T = static_cast<int64_t>(ids.size()), V = table.size(0), C = table.size(1);
  for (const int32_t id : ids) {
    if (id < 0 || id >= V) fail("[embedding] id {}: expected 0 to {}", id, V - 1);
  }
  const Tensor positions = args.positions ? contiguous(args.positions) : Tensor();
  if (positions) {
    check_columns("embedding", "positions", positions, C);
    if (args.position_of_row.size() != ids.size()) {
      fail("[embedding] {} ids with the positions of {}: expected as many", T, args.position_of_row.size());
    }
    for (const uint32_t position : args.position_of_row) {
      if (position >= positions.rows()) {
        fail("[embedding] position {}: the table of positions has {} rows", position, positions.rows());
      }
    }
  }
  Tensor y = Tensor::empty({T, C});
  const StoredNumbers* stored = table.stored();
  const kernels::NumberTable rows = stored ? kernels::NumberTable{stored->data, C, stored->ld, stored->type}
                                           : kernels::NumberTable{table.data(), C, C};
  kernels::embedding(y.data(), {T, C, V, rows, ids.data(), args.scale, positions ? positions.data() : nullptr,
                                args.position_of_row.data()});
  on_backward(y, {table, positions},
              [table, positions, T, C, V, scale = args.scale, ids = Kept(ids),
               rows = Kept(args.position_of_row)](const Tensor& dy) {
                if (const GradTarget d = table.zeroed_grad_target()) {
                  kernels::embedding_backward(d.data, dy.data(), ids.data(), T, C, V, scale);
                }
                if (!positions) return;
                if (const GradTarget d = positions.zeroed_grad_target()) {
                  kernels::embedding_backward(d.data, dy.data(), reinterpret_cast<const int32_t*>(rows.data()), T, C,
                                              positions.rows(), 1);
                }
              });
  return y;
}

Tensor dropout(const Tensor& x_in, const Spans& spans, const Dropout& how) {
  check_dropout("dropout", x_in, spans, how);
  if (how.p == 0) return x_in;
  const Tensor x = contiguous(x_in);
  const int64_t T = x.rows(), C = x.cols();
  Tensor y = Tensor::empty(x.shape());
  const Tensor keep = new_mask(T, C);
  kernels::dropout_mask(bits(keep), spans.row_ids(), T, C, how);
  kernels::apply_mask(y.data(), x.data(), bits(keep), T, C, how.p, false);
  on_backward(y, {x}, [x, keep, T, C, p = how.p](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::apply_mask(dx.data, dy.data(), bits(keep), T, C, p, dx.accumulate);
  });
  return y;
}

Tensor residual(const Tensor& x_in, const Tensor& f_in, const Spans& spans, const Dropout& how) {
  const Tensor x = contiguous(x_in), f = contiguous(f_in);
  check_shape("residual", "branch", f, x.shape());
  check_dropout("residual", x, spans, how);
  if (how.p == 0) return add(x, f);
  const int64_t T = x.rows(), C = x.cols();
  Tensor y = Tensor::empty(x.shape());
  const Tensor keep = new_mask(T, C);
  kernels::residual_dropout(y.data(), bits(keep), x.data(), f.data(), spans.row_ids(), T, C, how);
  on_backward(y, {x, f}, [x, f, keep, T, C, p = how.p](const Tensor& dy) {
    if (const GradTarget df = f.grad_target())
      kernels::apply_mask(df.data, dy.data(), bits(keep), T, C, p, df.accumulate);
    x.add_grad(dy);
  });
  return y;
}

Tensor rotary(const Tensor& x, int64_t heads, const RotaryTable& given, const Spans& spans) {
  check_rows("rotary", "input", x, spans.tokens());
  check_shape("rotary", "table of sines", given.sin, given.cos.shape());
  const RotaryTable table{contiguous(given.cos), contiguous(given.sin), given.interleaved};
  const int64_t T = x.rows(), turned = 2 * table.cos.cols();
  if (heads <= 0 || x.cols() % heads != 0) fail("[rotary] {} features by {} heads: not divisible", x.cols(), heads);
  const int64_t D = x.cols() / heads;
  if (turned > D) fail("[rotary] the table turns {} features: a head has {}", turned, D);
  if (spans.positions_end() > table.cos.rows()) {
    fail("[rotary] a sequence of {}: the table has {} positions", spans.positions_end(), table.cos.rows());
  }
  kernels::Rotary r{
      T, heads, D, turned, table.cos.data(), table.sin.data(), spans.positions().data(), table.interleaved, false};
  Tensor y = Tensor::empty(x.shape());
  kernels::rotary(y.data(), y.ld(), x.data(), x.ld(), r, false);
  on_backward(y, {x}, [x, r, table, spans](const Tensor& dy) {
    kernels::Rotary back = r;
    back.inverse = true;
    const GradTarget dx = x.grad_target();
    kernels::rotary(dx.data, dx.ld, dy.data(), dy.ld(), back, dx.accumulate);
  });
  return y;
}

Tensor scale_heads(const Tensor& x_in, std::span<const float> gains) {
  const int64_t H = static_cast<int64_t>(gains.size());
  if (H == 0 || x_in.cols() % H != 0) {
    fail("[scale_heads] {} gains for {} features: expected a divisor", H, x_in.cols());
  };
  const int64_t D = x_in.cols() / H;
  Tensor row = Tensor::empty({x_in.cols()});
  for (int64_t c = 0; c < x_in.cols(); ++c) row.data()[c] = gains[c / D];
  return multiply(x_in, row);
}

}  // namespace heed
