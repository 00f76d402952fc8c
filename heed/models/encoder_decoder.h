// The Transformer of the paper: an encoder reads the source, a decoder writes the target while it looks at it.
#pragma once

#include <optional>

#include "heed/models/embedding.h"
#include "heed/nn/stack.h"

namespace heed::models {

class EncoderDecoder {
 public:
  // Without a seed it has names and shapes alone, no numbers: enough to count.
  explicit EncoderDecoder(const ModelConfig& config, std::optional<uint64_t> seed = 1);

  // Stacks alone, on features: source (T, C), target (T', C) -> (T', C).
  Tensor body(const nn::StackInput& source, const nn::StackInput& target, const nn::Context& context) const;
  Tensor encode(const TokenBatch& source, const nn::Context& context) const;  // (T, C)
  // Decoding: the next tokens of sequences whose earlier ones and whose sources the cache remembers. (new tokens, C)
  Tensor next_hidden(const TokenBatch& tokens, const nn::StepCache& cache, const nn::Context& context) const;
  Tensor hidden(const PairBatch& batch, const nn::Context& context) const;  // (T', C)
  Tensor logits(const PairBatch& batch, const nn::Context& context) const;  // (T', V)
  LossResult loss(const PairBatch& batch, const LossArgs& args, const nn::Context& context) const;

  ModelConfig config;  // its shape is fixed; what is only read when it runs (alignment) may be set later
  nn::Parameters parameters;
  TokenEmbedding source_embedding, target_embedding;
  nn::EncoderStack encoder;
  nn::DecoderStack decoder;
  LinearWeight output;  // (V, C)
};

}  // namespace heed::models
