#include "heed/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace {

kernels::Attention kernel_args(const Tensor& q, const Tensor& v, const AttentionArgs& a) {
  kernels::Attention k{};
  k.sequences = a.q_spans.count();
  k.q_offsets = a.q_spans.offsets();
  k.k_offsets = a.k_spans.offsets();
  k.k_rows = a.k_rows ? a.k_rows->data() : nullptr;
  k.heads = a.heads;
  k.kv_heads = a.kv_heads;
  k.D = q.cols() / a.heads;
  k.Dv = v ? v.cols() / a.kv_heads : k.D;
  k.scale = a.scale != 0 ? a.scale : 1.0f / std::sqrt(static_cast<float>(k.D));
  k.causal = a.causal;
  k.key_lengths = a.key_lengths ? a.key_lengths->data() : nullptr;
  k.mask = {a.mask.keep ? a.mask.keep->data() : nullptr, a.mask.add ? a.mask.add.data() : nullptr,
            a.mask.stride_sequence, a.mask.stride_head, a.mask.stride_row};
  k.slopes = a.slopes ? a.slopes.data() : nullptr;
  if (a.relative) {
    k.relative = a.relative.data();
    k.relative_first = a.relative_first;
    k.relative_count = a.relative.rows();
  }
  k.dropout = a.dropout;
  k.sequence_ids = a.q_spans.ids();
  return k;
}

// A mask reaches as far as its strides say.
void check_mask(const AttentionArgs& a) {
  const auto& m = a.mask;
  if (m.stride_sequence < 0 || m.stride_head < 0 || m.stride_row < 0) {
    fail("[attention] a mask with strides {}, {} and {}: expected none below 0", m.stride_sequence, m.stride_head,
         m.stride_row);
  }
  if (m.add && !m.add.contiguous()) {
    fail("[attention] a mask of shape {} whose rows lie apart: expected one after the other", m.add.shape().str());
  }
  int64_t reach = 0;
  for (int64_t s = 0; s < a.q_spans.count(); ++s) {
    const int64_t n_q = a.q_spans.length(s), n_k = a.k_spans.length(s);
    if (n_q == 0 || n_k == 0) continue;
    reach = std::max(
        reach, s * a.mask.stride_sequence + (a.heads - 1) * a.mask.stride_head + (n_q - 1) * a.mask.stride_row + n_k);
  }
  const int64_t keep = a.mask.keep ? static_cast<int64_t>(a.mask.keep->size()) : reach;
  const int64_t added = a.mask.add ? a.mask.add.numel() : reach;
  if (std::min(keep, added) < reach)
    fail("[attention] a mask of {}: its strides reach {}", std::min(keep, added), reach);
}

void check_key_rows(const Tensor& k, const AttentionArgs& a) {
  if (static_cast<int64_t>(a.k_rows->size()) != a.k_spans.tokens()) {
    fail("[attention] {} rows of keys for spans of {}", a.k_rows->size(), a.k_spans.tokens());
  }
  for (const int32_t row : *a.k_rows) {
    if (row < 0 || row >= k.rows()) fail("[attention] key row {} of {}", row, k.rows());
  }
  if (grad_enabled()) fail("[attention] a cache has no gradients: expected a no-grad scope");
}

void check_heads(const Tensor& q, const Tensor& k, const AttentionArgs& a) {
  if (a.heads <= 0 || a.kv_heads <= 0 || a.heads % a.kv_heads != 0) {
    fail("[attention] {} heads over {} key heads: expected a multiple", a.heads, a.kv_heads);
  }
  if (q.cols() % a.heads != 0) fail("[attention] {} features by {} heads: not divisible", q.cols(), a.heads);
  check_columns("attention", "keys", k, q.cols() / a.heads * a.kv_heads);
  check_rows("attention", "queries", q, a.q_spans.tokens());
  a.k_rows ? check_key_rows(k, a) : check_rows("attention", "keys", k, a.k_spans.tokens());
  if (a.q_spans.count() != a.k_spans.count()) {
    fail("[attention] {} sequences of queries, {} of keys", a.q_spans.count(), a.k_spans.count());
  }
  if (a.key_lengths && static_cast<int64_t>(a.key_lengths->size()) != a.q_spans.count()) {
    fail("[attention] {} lengths of keys for {} sequences", a.key_lengths->size(), a.q_spans.count());
  }
  if (a.slopes) check_shape("attention", "slopes", a.slopes, {a.heads});
  if (a.relative) check_columns("attention", "relative bias", a.relative, a.heads);
  if (a.mask.keep || a.mask.add) check_mask(a);
}

// What the kernels read without a stride lies one row after the other.
AttentionArgs checked(const Tensor& q, const Tensor& k, AttentionArgs args) {
  check_heads(q, k, args);
  if (args.relative) args.relative = contiguous(args.relative);
  return args;
}

kernels::Heads heads_of(const Tensor& x) { return {x.data(), x.ld()}; }
kernels::HeadsOut heads_of(const GradTarget& d) { return {d.data, d.ld, d.accumulate}; }

// Two floats a row and head.
kernels::SoftmaxRow* softmax_rows(const Tensor& kept) { return reinterpret_cast<kernels::SoftmaxRow*>(kept.data()); }

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArgs& given) {
  const AttentionArgs args = checked(q, k, given);
  if (v.rows() != k.rows()) fail("[attention] {} keys, {} values: expected as many", k.rows(), v.rows());
  if (v.cols() % args.kv_heads != 0)
    fail("[attention] {} features by {} heads: not divisible", v.cols(), args.kv_heads);
  const kernels::Attention a = kernel_args(q, v, args);
  Tensor y = Tensor::empty({q.rows(), args.heads * a.Dv});
  const bool training = grad_enabled();
  const Tensor kept = training ? Tensor::empty({q.rows(), 2 * args.heads}) : Tensor();
  kernels::attention(
      a, {heads_of(q), heads_of(k), heads_of(v), y.data(), y.ld(), training ? softmax_rows(kept) : nullptr});
  on_backward(y, {q, k, v, args.relative}, [q, k, v, args, a, kept, out = y.detach()](const Tensor& dy) {
    // A tensor in two roles gets the gradient of the second apart, and adds it afterwards.
    const Tensor k_apart = share_gradient(q, k) ? Tensor::empty(k.shape()) : Tensor();
    const Tensor v_apart = share_gradient(q, v) || share_gradient(k, v) ? Tensor::empty(v.shape()) : Tensor();
    const GradTarget dq = q.grad_target(), drelative = args.relative.zeroed_grad_target();
    const GradTarget dk = k_apart ? GradTarget{k_apart.data(), k_apart.ld(), false} : k.grad_target();
    const GradTarget dv = v_apart ? GradTarget{v_apart.data(), v_apart.ld(), false} : v.grad_target();
    kernels::attention_backward(a, {heads_of(q), heads_of(k), heads_of(v), heads_of(out), heads_of(dy),
                                    softmax_rows(kept), heads_of(dq), heads_of(dk), heads_of(dv), drelative.data});
    if (k_apart) k.add_grad(k_apart);
    if (v_apart) v.add_grad(v_apart);
  });
  return y;
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionArgs& given, const WeightsAt& at) {
  const AttentionArgs args = checked(q, k, given);
  if (at.sequence < 0 || at.sequence >= args.q_spans.count() || at.head < 0 || at.head >= args.heads || at.first < 0 ||
      at.rows < 0 || at.first + at.rows > args.q_spans.length(at.sequence)) {
    fail("[attention_weights] rows {} to {} of sequence {}, head {}: out of range", at.first, at.first + at.rows,
         at.sequence, at.head);
  }
  Tensor weights = Tensor::empty({at.rows, args.k_spans.length(at.sequence)});
  const Tensor scores = at.scores ? Tensor::empty(weights.shape()) : Tensor();
  kernels::attention_weights(kernel_args(q, Tensor(), args),
                             {heads_of(q), heads_of(k), at.sequence, at.head, at.first, at.rows, at.with_dropout,
                              weights.data(), at.scores ? scores.data() : nullptr});
  return at.scores ? scores : weights;
}

}  // namespace heed
