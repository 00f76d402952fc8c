// Vocabulary projection, softmax, cross-entropy and label smoothing, and their gradients, by blocks of token
// rows over the whole vocabulary: the (T, V) logits never exist at once.
#pragma once

#include <cstdint>

#include "heed/kernels/gemm.h"

namespace heed::kernels {

// loss_t = -(1 - eps) log p[target] - eps / V * sum_v log p[v];  rows with target < 0 are ignored.
// With agreement a > 0 rows t and t + T / 2 are one token under two dropouts (R-Drop, Liang et al. 2021): both carry
// a / 4 * (KL(p || q) + KL(q || p)) of their distributions p and q as well; logits must be finite.
struct VocabularyLoss {
  int64_t T, C, V;
  const float* x;          // (T, C)
  Operand weight;          // (C, V): tied embeddings (V, C) are a transposed operand
  const float* bias;       // (V) or null
  const int32_t* targets;  // (T)
  float smoothing = 0;
  float agreement = 0;  // > 0: T is even, and the targets of both halves are the same
  Precision precision = Precision::kF32;
  // Results. Gradients are those of grad_scale * sum_t loss_t; each may be null.
  float* row_loss;  // (T) smoothed loss, with what is paid for agreement
  float* row_nll;   // (T) plain -log p[target]
  float grad_scale = 1;
  float* dx = nullptr;       // (T, C), written
  float* dweight = nullptr;  // laid out as weight
  float* dbias = nullptr;
  bool accumulate = true;  // dweight and dbias are added to; else written
};
void vocabulary_loss(const VocabularyLoss& l);
void vocabulary_loss_reference(const VocabularyLoss& l);

}  // namespace heed::kernels
