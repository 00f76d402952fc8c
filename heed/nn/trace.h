// Every number inside a run, by name and shape. A trace holds on to the values that the run made anyway; what the run
// does not make is computed beside it, scores and weights when asked for, the hidden rows of a feed-forward during the run
// where the prefixes want them. So looking takes no fast path away and changes no bit of the output.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heed/tensor/ops.h"

namespace heed::nn {

// What one attention leaves behind.
struct AttentionRecord {
  Tensor q, k, v;  // (T, H D), (T', H_kv D)
  Tensor merged;   // (T, H D) heads side by side
  Tensor output;   // (T, C)
  AttentionArgs args;
};

class Trace {
 public:
  // Where given, only names under one of these prefixes are kept.
  explicit Trace(std::vector<std::string> prefixes = {}) : prefixes_(std::move(prefixes)) {}

  bool wanted(const std::string& name) const;

  // Called by the layers while they run. A second run under the same names replaces the first.
  void rows(const std::string& name, const Tensor& x, const Spans& spans);
  void attention(const std::string& path, const AttentionRecord& record);

  // Every name, in the order of the run: "....q", ".k", ".v", ".q_heads", ".k_heads", ".v_heads", ".scores",
  // ".weights", ".head_output", ".merged", ".output" of each attention, ".input" of self-attention, ".input" and ".hidden"
  // of each feed-forward, and the rows of each block. Weights are those that met the values: in a training run after
  // dropout.
  std::vector<std::string> names() const;
  // Shapes of a batch of equal lengths: (B, n, C), (B, H, n, D), (B, H, n, n'). Ragged batches have no B.
  Shape shape(const std::string& name) const;
  // The numbers; of one sequence (without B) where the batch is ragged.
  Tensor tensor(const std::string& name) const;
  Tensor tensor(const std::string& name, int64_t sequence) const;
  // Of what is rows of tokens, those of all sequences as they lie: (T, C)
  const Tensor& all_rows(const std::string& name) const;

 private:
  enum class Kind { kRows, kHeads, kScores, kWeights };
  struct Item {
    Kind kind;
    Tensor x;
    Spans spans;
    int64_t heads = 1;
    std::string attention;
  };
  const Item& item(const std::string& name) const;
  bool same_shapes(const Item& item) const;      // of all sequences, keys included
  bool add(const std::string& name, Item item);  // false where it is not wanted

  std::vector<std::string> prefixes_, order_;
  std::map<std::string, Item> items_;
  std::map<std::string, AttentionRecord> attentions_;
};

}  // namespace heed::nn
