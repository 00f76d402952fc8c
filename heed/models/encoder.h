// Encoder-only: BERT's body over tokens, ViT's over patches. A head reads the first row of each sequence.
#pragma once

#include <optional>

#include "heed/models/embedding.h"
#include "heed/nn/stack.h"

namespace heed::models {

class Encoder {
 public:
  // Without a seed it has names and shapes alone, no numbers: enough to count.
  explicit Encoder(const ModelConfig& config, std::optional<uint64_t> seed = 1);

  Tensor body(const nn::StackInput& in, const nn::Context& context) const { return stack.forward(in, context); }
  Tensor hidden(const TokenBatch& batch, const nn::Context& context) const;  // (T, C)
  Tensor hidden(const ImageBatch& batch, const nn::Context& context) const;  // (B (n + 1), C)
  Tensor logits(const ImageBatch& batch, const nn::Context& context) const;  // (B, classes)
  LossResult loss(const ImageBatch& batch, const LossArgs& args, const nn::Context& context) const;

  const ModelConfig config;
  nn::Parameters parameters;
  TokenEmbedding token_embedding;
  nn::Linear patch_embedding;
  Tensor class_row;  // (C)
  uint64_t place = 0;
  nn::EncoderStack stack;
  nn::Linear head;  // (classes, C)
};

// Cuts images of size x size x channels (row by row, values as given) into patches, row by row.
ImageBatch image_batch(std::span<const float> pixels, std::span<const int32_t> labels, const ModelConfig& config);

}  // namespace heed::models
