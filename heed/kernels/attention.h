// Attention over ragged spans in tiles: softmax(Q K^T * scale + bias) V, forward and backward, with memory
// that grows with n and never with n^2: a thread needs 2,048 keys' worth at most beside two floats a token of a biased
// head, and gradients of relative biases a float for each distance of each sequence and head. A row whose keys are all
// masked gives zeros and zero gradients. What a causal mask or a key length hides has no effect, whatever it holds; under
// the other masks NaN and infinity in a value reach the rows of their sequence.
// Scores, biases and additive masks count as far as +-2.358e38, the largest float over log2(e): what is larger counts as
// that, so a row of finite scores, also one of masks of -FLT_MAX, has weights that sum to 1. Only -inf masks.
// Queries times the scale stay within the same bound, and values times the number of keys within the largest float:
// weights are divided by their sum after the values are added.
#pragma once

#include <cstdint>

#include "heed/kernels/dropout.h"

namespace heed::kernels {

// A (T, heads * D) matrix whose row t starts at data + t * ld; head h holds columns [h * D, (h + 1) * D).
struct Heads {
  const float* data;
  int64_t ld;
};
struct HeadsOut {
  float* data;
  int64_t ld;
  bool accumulate;
};

struct Attention {
  int64_t sequences;
  const int32_t *q_offsets, *k_offsets;  // (sequences + 1) rows where each sequence starts
  // Where given, key j of the offsets and its value are row k_rows[j] of k and v, so that sequences of a cache share
  // what they have in common. Forward only.
  const int32_t* k_rows = nullptr;
  int64_t heads, kv_heads;  // heads % kv_heads == 0; head h reads kv head h / (heads / kv_heads)
  int64_t D, Dv;            // of one head
  float scale;
  bool causal = false;                   // query i sees keys j <= i + (n_k - n_q)
  const int32_t* key_lengths = nullptr;  // (sequences) keys from here on are masked; null: all are seen
  // Arbitrary masks, one (n_q, n_k) matrix each, at
  // data + sequence * stride_sequence + head * stride_head + i * stride_row + j.
  struct Mask {
    const uint8_t* keep = nullptr;  // boolean: 0 is masked
    const float* add = nullptr;     // additive: -inf masks
    int64_t stride_sequence = 0, stride_head = 0, stride_row = 0;
  } mask;
  const float* slopes = nullptr;  // (heads) ALiBi: score -= slope * |i + (n_k - n_q) - j|
  // Relative bias: score += relative[d - relative_first][head] for the distance d = j - (i + n_k - n_q);
  // distances outside the table take its nearest end.
  const float* relative = nullptr;  // (relative_count, heads)
  int64_t relative_first = 0, relative_count = 0;
  Dropout dropout;                         // on the weights, after the softmax
  const uint32_t* sequence_ids = nullptr;  // (sequences) numbers in the global batch for dropout; null: 0, 1, 2, ...
};

// What the forward keeps of a row for the backward, in units of log 2: with the two in one number the sum would be
// rounded away beside a large score.
struct SoftmaxRow {
  float largest;  // score
  float sum;      // of 2^(score - largest); 0: no key was seen
};

struct AttentionForward {
  Heads q, k, v;
  float* out;  // (T, heads * Dv)
  int64_t out_ld;
  SoftmaxRow* softmax;  // (T, heads), kept for the backward; may be null
};
void attention(const Attention& a, const AttentionForward& f);
void attention_reference(const Attention& a, const AttentionForward& f);

struct AttentionBackward {
  Heads q, k, v, out, dout;
  const SoftmaxRow* softmax;
  HeadsOut dq, dk, dv;         // data may be null: not wanted
  float* drelative = nullptr;  // (distances, heads), added to
};
void attention_backward(const Attention& a, const AttentionBackward& b);
void attention_backward_reference(const Attention& a, const AttentionBackward& b);

// The weights of one sequence and head, rows [first, first + rows): (rows, n_k), exact, without dropout unless asked.
// scores (rows, n_k), before the softmax and with every mask and bias, are written where given.
struct AttentionLook {
  Heads q, k;
  int64_t sequence, head, first, rows;
  bool with_dropout = false;
  float* weights;
  float* scores = nullptr;
};
void attention_weights(const Attention& a, const AttentionLook& look);

}  // namespace heed::kernels
