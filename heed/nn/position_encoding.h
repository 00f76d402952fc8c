// Where positions enter: added to the embedding (sinusoidal, learned), turning queries and keys (rotary),
// or as a bias on the scores (ALiBi, T5). A new kind is one case in each of the three places.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "heed/nn/config.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"

namespace heed::nn {

class PositionEncoding {
 public:
  PositionEncoding() = default;
  // bidirectional: T5's buckets tell keys before from keys after.
  PositionEncoding(const Scope& scope, const StackConfig& config, bool bidirectional);

  // (P, C) with P >= longest, or empty where nothing is added to the embedding.
  Tensor table(int64_t longest) const;
  // Queries or keys of `heads` heads with their positions in them.
  Tensor rotate(const Tensor& x, int64_t heads, const Spans& spans) const;
  void bias_scores(AttentionArgs& args) const;

 private:
  RotaryTable rotary_table(int64_t longest) const;
  const std::vector<int32_t>& buckets(int64_t room) const;  // of the distances 1 - room to room - 1

  StackConfig config_;
  bool bidirectional_ = false;
  Tensor learned_;  // (P, C), or T5's (buckets, H)
  Tensor slopes_;   // (H) of ALiBi
  // Tables that grow with the longest sequence seen. Several threads may run one model: the lock is for those that grow,
  // a table that was given out stays as it is.
  struct Tables {
    std::mutex lock;
    Tensor sinusoids;
    RotaryTable rotary;
    std::array<std::vector<int32_t>, 32> t5_buckets;  // T5's bucket of every distance below 2^i; backwards read it
  };
  std::shared_ptr<Tables> tables_ = std::make_shared<Tables>();
};

}  // namespace heed::nn
