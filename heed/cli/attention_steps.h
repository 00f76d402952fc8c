// One attention step taken apart, head by head, as `heed show attention` tells it.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/cli/arguments.h"
#include "heed/cli/render.h"

namespace heed::cli {

struct AttentionAsk {
  Matrix q, k, v;             // (n_q, heads * d_k), (n_k, heads * d_k), (n_k, heads * d_v)
  std::vector<uint8_t> keep;  // (n_q, n_k), 0 is masked; empty: no mask
  int64_t heads = 1;
  bool scaled = true;
};

// Matrices of one head.
struct HeadSteps {
  Grid q, k, v;
  Grid scores;   // Q K^T, (n_q, n_k)
  Grid scaled;   // divided by sqrt(d_k); equal to scores without scaling
  Grid masked;   // -inf where a key is hidden
  Grid weights;  // softmax of each row
  Grid output;   // weights V, (n_q, d_v)
};

// Checks that the shapes fit together, or fails with `where` in front.
void check_attention(const std::string& where, const AttentionAsk& ask);
// The textbook's way, in double.
std::vector<HeadSteps> attention_steps(const AttentionAsk& ask);
// The engine's way, in tiles and f32: (n_q, heads * d_v), to compare with.
std::vector<float> attention_by_kernel(const AttentionAsk& ask);

}  // namespace heed::cli
