// Decoder-only: GPT-2 and LLaMA. Each position sees those before it and predicts the next.
#pragma once

#include <optional>

#include "heed/models/embedding.h"
#include "heed/nn/stack.h"

namespace heed::models {

class Decoder {
 public:
  // Without a seed it has names and shapes alone, no numbers: enough to count.
  explicit Decoder(const ModelConfig& config, std::optional<uint64_t> seed = 1);

  Tensor hidden(const TokenBatch& batch, const nn::Context& context) const;  // (T, C)
  // Generating: the next tokens of sequences whose earlier ones the cache remembers. (new tokens, C)
  Tensor next_hidden(const TokenBatch& tokens, const nn::StepCache& cache, const nn::Context& context) const;
  Tensor logits(const TokenBatch& batch, const nn::Context& context) const;  // (T, V)
  LossResult loss(const TokenBatch& batch, std::span<const int32_t> labels, const LossArgs& args,
                  const nn::Context& context) const;

  const ModelConfig config;
  nn::Parameters parameters;
  TokenEmbedding token_embedding;
  nn::EncoderStack stack;
  LinearWeight output;  // (V, C)
};

}  // namespace heed::models
