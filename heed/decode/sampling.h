// A token drawn by its probability. A draw depends on its key alone: not on batches, threads or what was drawn before.
#pragma once

#include <cstdint>
#include <span>

#include "heed/decode/search.h"

namespace heed::decode {

struct SampleKey {
  uint64_t seed;
  uint32_t sequence, sample, position;
};

struct Sampled {
  int32_t id = -1;     // -1: no token is possible, the logits are masked or no numbers
  float log_prob = 0;  // under the model itself, without temperature and cuts
};

// From softmax(logits / temperature), cut to the top_k likeliest and to the fewest that hold top_p together.
Sampled sample_token(std::span<const float> logits, const SearchConfig& config, const SampleKey& key);

}  // namespace heed::decode
