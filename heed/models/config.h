// One description of a model, complete: the three bodies of the family and what they read and write.
#pragma once

#include <string>
#include <vector>

#include "heed/nn/config.h"

namespace heed::models {

enum class Family { kEncoderDecoder, kEncoder, kDecoder };

// Ids that stand for no text. A translator's decoder starts with `start`; -1: there is none.
struct TokenIds {
  int32_t start = 2, eos = 0, unk = 1, pad = 2;
  std::vector<int32_t> more_ends = {};  // other ids that end a text as eos does
};
// The head of a decoder layer's cross-attention that aligns words best.
struct AlignmentHead {
  int64_t layer = -1, head = 0;  // -1: not known, all heads of the last layer but one are averaged
};

struct ModelConfig {
  Family family = Family::kEncoderDecoder;
  nn::StackConfig encoder, decoder;               // the one that the family lacks is not read
  int64_t source_vocabulary = 0, vocabulary = 0;  // 0: no embedding, the body alone
  bool tie_embeddings = true;                     // the output shares the (target) embedding
  bool share_source = true;                       // source and target share one embedding
  bool scale_embedding = true;                    // by sqrt(d_model)
  bool output_bias = false;
  // Images: square, cut in square patches, read by an encoder with a class token.
  int64_t image_size = 0, patch_size = 0, channels = 1;
  int64_t classes = 0;
  TokenIds tokens;
  AlignmentHead alignment;
  int64_t trained_length = 0;  // tokens of the longest line that a translator was trained with, eos too; 0: not known

  const nn::StackConfig& main_stack() const { return family == Family::kEncoder ? encoder : decoder; }
  void check() const;
};

// Named shapes: the paper's base, what the benchmarks train, and the reference shapes of the published models.
ModelConfig preset(const std::string& name);
const std::vector<std::string>& preset_names();

}  // namespace heed::models
