// The textbook form of attention on dense tensors, over the same kernel as everything else.
#include <algorithm>
#include <cmath>

#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

// Repeats x so that its leading dimensions are `lead`: (..., n, d) -> (lead..., n, d).
Tensor expand_lead(const Tensor& x, const Shape& lead) {
  Shape shape = lead;
  shape.append(x.size(-2)).append(x.size(-1));
  return shape == x.shape() ? x : add(x, Tensor::zeros(shape));
}

Shape lead_of(const Tensor& x) { return x.shape().without_last().without_last(); }

AttentionArgs::Mask dense_mask(const DenseMask& mask, const Shape& shape) {
  AttentionArgs::Mask out;
  out.stride_row = shape[-1];
  out.stride_sequence = shape[-1] * shape[-2];
  NoGrad constant;
  if (mask.add) out.add = contiguous(add(mask.add, Tensor::zeros(shape)));
  if (mask.keep) {
    const Tensor keep = add(mask.keep, Tensor::zeros(shape));
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    for (const float x : keep.to_vector()) bytes->push_back(x != 0);
    out.keep = std::move(bytes);
  }
  return out;
}

}  // namespace

DenseAttention scaled_dot_product_attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                                            const DenseMask& mask) {
  constexpr const char* kOp = "attention";
  for (const Tensor* x : {&q_in, &k_in, &v_in}) {
    if (x->shape().rank() < 2) fail("[attention] shape {}: expected (..., length, features)", x->shape().str());
  }
  if (q_in.size(-1) != k_in.size(-1)) {
    fail("[attention] queries {} and keys {}: expected the same number of features", q_in.shape().str(),
         k_in.shape().str());
  }
  if (k_in.size(-2) != v_in.size(-2)) {
    fail("[attention] keys {} and values {}: expected the same length", k_in.shape().str(), v_in.shape().str());
  }
  const Shape lead = broadcast(kOp, broadcast(kOp, lead_of(q_in), lead_of(k_in)), lead_of(v_in));
  const int64_t B = lead.numel(), n_q = q_in.size(-2), n_k = k_in.size(-2), D = q_in.size(-1), Dv = v_in.size(-1);
  const Tensor q = reshape(expand_lead(q_in, lead), {B * n_q, D});
  const Tensor k = reshape(expand_lead(k_in, lead), {B * n_k, D});
  const Tensor v = reshape(expand_lead(v_in, lead), {B * n_k, Dv});

  AttentionArgs args;
  args.q_spans = Spans::dense(B, n_q);
  args.k_spans = Spans::dense(B, n_k);
  args.causal = mask.causal;
  Shape square = lead;
  square.append(n_q).append(n_k);
  if (mask.add || mask.keep) {
    for (const Tensor& m : {mask.add, mask.keep}) {
      if (m && !(broadcast(kOp, m.shape(), square) == square)) {
        fail("[attention] mask {}: expected {}", m.shape().str(), square.str());
      }
    }
    args.mask = dense_mask(mask, square);
  }
  DenseAttention result;
  Shape out_shape = lead;
  result.out = reshape(attention(q, k, v, args), out_shape.append(n_q).append(Dv));
  result.weights = Tensor::empty(square);
  NoGrad no_grad;
  for (int64_t b = 0; b < B; ++b) {
    const Tensor w = attention_weights(q, k, args, {.sequence = b, .rows = n_q});
    std::copy_n(w.data(), n_q * n_k, result.weights.data() + b * n_q * n_k);
  }
  return result;
}

}  // namespace heed
