// Where the parameters of a model are, from its config alone: nothing is allocated.
#pragma once

#include "heed/models/config.h"

namespace heed::models {

struct ParameterParts {
  int64_t embedding = 0;  // tokens or patches, and the class row
  int64_t positions = 0;  // learned tables and T5's biases
  int64_t self_attention = 0;
  int64_t cross_attention = 0;
  int64_t feed_forward = 0;
  int64_t norms = 0;
  int64_t output = 0;  // to the vocabulary or the classes; 0 where it is tied to the embedding

  int64_t body() const { return self_attention + cross_attention + feed_forward + norms; }  // the stacks alone
  int64_t total() const { return embedding + positions + body() + output; }
};
ParameterParts parameter_parts(const ModelConfig& config);

// Of one block; `cross` for a decoder block of the encoder-decoder.
ParameterParts block_parts(const nn::StackConfig& config, bool cross);

}  // namespace heed::models
