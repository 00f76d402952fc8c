// The ops: free functions that check, compute and state their backward. T counts the tokens (rows) of a
// ragged batch, C features, H heads, D features of a head, V the vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heed/kernels/activation.h"
#include "heed/kernels/dropout.h"
#include "heed/kernels/gemm.h"
#include "heed/tensor/autograd.h"
#include "heed/tensor/spans.h"
#include "heed/tensor/tensor.h"

namespace heed {

using kernels::Activation;
using kernels::Dropout;
using kernels::Precision;

// While one lives, products on this thread are computed in the given precision.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  Precision before_;
};
Precision current_precision();

// Elementwise; leading dimensions broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, float alpha);
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator*(float alpha, const Tensor& x) { return scale(x, alpha); }

Tensor sum(const Tensor& x);  // of all elements, a scalar
Tensor mean(const Tensor& x);

// Shape.
Tensor contiguous(const Tensor& x);                   // x itself where it is
Tensor reshape(const Tensor& x, const Shape& shape);  // the same numbers
Tensor transpose(const Tensor& x, int first, int second);
Tensor select_rows(const Tensor& x, std::span<const int32_t> rows);  // (T, C) -> (rows, C)

// Products. matmul: (..., M, K) x (..., K, N) -> (..., M, N), leading dimensions broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);

// How a weight lies in memory: (out, in) as in PyTorch's Linear, or (in, out) as in GPT-2's Conv1D.
enum class WeightLayout { kOutIn, kInOut };
struct LinearWeight {
  Tensor weight, bias;  // bias may be empty
  WeightLayout layout = WeightLayout::kOutIn;
  int64_t in() const { return layout == WeightLayout::kOutIn ? weight.size(1) : weight.size(0); }
  int64_t out() const { return layout == WeightLayout::kOutIn ? weight.size(0) : weight.size(1); }
};
// (..., in) -> (..., out), with the activation in the same pass.
Tensor linear(const Tensor& x, const LinearWeight& w, Activation act = Activation::kNone);
// Several maps of one input side by side: (T, in) -> (T, out1 + out2 + ...); x is read once.
Tensor linear_side_by_side(const Tensor& x, std::span<const LinearWeight> maps);

// What LoRA adds to a linear map: y + scale (x A^T) B^T, in `out` columns of y. Where nobody else holds y, in its memory.
struct LowRankWeight {
  Tensor a, b;  // (r, in), (out, r)
  float scale = 1;
  int64_t column = 0;  // of y, where B's outputs begin
};
Tensor add_low_rank(Tensor y, const Tensor& x, const LowRankWeight& w);

Tensor activate(const Tensor& x, Activation act);
Tensor gate(const Tensor& gate_in, const Tensor& up, Activation act);  // act(gate_in) * up
Tensor softmax(const Tensor& x);
Tensor log_softmax(const Tensor& x);

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, float eps);  // bias may be empty
Tensor rms_norm(const Tensor& x, const Tensor& gain, float eps);

// Rows of the table times `scale`, plus, where given, the row of `positions` at each token's position.
struct EmbeddingArgs {
  float scale = 1;
  Tensor positions;  // (P, C), constant or learned
  std::span<const uint32_t> position_of_row;
};
Tensor embedding(const Tensor& table, std::span<const int32_t> ids, const EmbeddingArgs& args = {});

// Dropout of the rows of a ragged batch, and x + dropout(f) in one pass.
Tensor dropout(const Tensor& x, const Spans& spans, const Dropout& how);
Tensor residual(const Tensor& x, const Tensor& f, const Spans& spans, const Dropout& how);

// A feed-forward as one op: act(x W1 + b1), dropout, W2 + b2, with the elementwise steps inside the products.
struct FeedForwardArgs {
  LinearWeight up, down;
  Activation act = Activation::kRelu;
  Dropout dropout;  // on the activation
};
Tensor feed_forward(const Tensor& x, const FeedForwardArgs& args, const Spans& spans);

// Attention over ragged spans; see kernels/attention.h for what each option means.
struct AttentionArgs {
  int64_t heads = 1, kv_heads = 1;
  Spans q_spans, k_spans;
  float scale = 0;  // 0: 1 / sqrt(size of one head)
  bool causal = false;
  std::shared_ptr<const std::vector<int32_t>> key_lengths;
  std::shared_ptr<const std::vector<int32_t>>
      k_rows;  // of a cache: key j of k_spans is this row of k and v; no gradients
  struct Mask {
    std::shared_ptr<const std::vector<uint8_t>> keep;
    Tensor add;  // constant
    int64_t stride_sequence = 0, stride_head = 0, stride_row = 0;
  } mask;
  Tensor slopes;    // (H) constant
  Tensor relative;  // (distances, H)
  int64_t relative_first = 0;
  Dropout dropout;
};
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArgs& args);
// Rows [first, first + rows) of the weights of one sequence and head: (rows, n_k). scores: before the softmax;
// with_dropout: as they meet the values where args.dropout says so.
struct WeightsAt {
  int64_t sequence = 0, head = 0, first = 0, rows = 0;
  bool scores = false, with_dropout = false;
};
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionArgs& args, const WeightsAt& at);

// The textbook form on dense tensors: q (..., n_q, D), k (..., n_k, D), v (..., n_k, Dv); leading dimensions are
// equal or broadcast. keep: (..., n_q, n_k) of 0 and 1, add: (..., n_q, n_k), both broadcast; either may be empty.
struct DenseMask {
  bool causal = false;
  Tensor keep, add;
};
struct DenseAttention {
  Tensor out, weights;
};
DenseAttention scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const DenseMask& mask = {});

// Rotary positions of q or k: (T, H * D) -> the same. Tables from kernels::rotary_tables.
struct RotaryTable {
  Tensor cos, sin;  // (P, turned / 2)
  bool interleaved = false;
};
Tensor rotary(const Tensor& x, int64_t heads, const RotaryTable& table, const Spans& spans);

// Images: x (B n, C) patches of B images; each image gets `first` (C) as its row 0, and every row its position where
// positions are given: (B (n + 1), C). `spans` are those of the result.
Tensor with_class_row(const Tensor& x, const Tensor& first, const Tensor& positions, const Spans& spans);

// Each head's columns times its gain; a gain of 0 silences the head.
Tensor scale_heads(const Tensor& x, std::span<const float> gains);

// Projection to the vocabulary, softmax and cross-entropy with label smoothing; rows with target < 0 do not count.
// Gradients are taken in the same sweep, so that the logits are neither kept nor computed twice; they wait for the
// backward, which multiplies them with what arrives. `scale` costs nothing, 0.5f * loss a pass over the gradients.
struct LossArgs {
  float smoothing = 0;
  float scale = 0;  // of the summed loss; 0: one over the number of rows that count
  bool keep_rows = false;
  // R-Drop: above 0, rows t and t + T / 2 are the same tokens under two dropouts, p and q what they predict, and the loss
  // of each, not its nll, has agreement / 4 * (KL(p || q) + KL(q || p)) more.
  float agreement = 0;
};
struct LossResult {
  Tensor loss;                 // scalar: scale * sum of the rows' losses
  double nll = 0;              // sum of -log p[target], without smoothing
  int64_t rows = 0;            // that count
  std::vector<float> row_nll;  // where keep_rows
};
LossResult vocabulary_loss(const Tensor& x, const LinearWeight& w, std::span<const int32_t> targets,
                           const LossArgs& args = {});

}  // namespace heed
