#include "heed/models/decoder.h"

#include "heed/base/error.h"

namespace heed::models {

Decoder::Decoder(const ModelConfig& model_config, std::optional<uint64_t> seed) : config(model_config) {
  config.check();
  if (config.vocabulary <= 0) fail("[model] a decoder needs a vocabulary");
  const nn::Scope scope(parameters);
  token_embedding = TokenEmbedding(scope / "embedding", config.vocabulary, config.decoder, config.scale_embedding);
  stack = nn::EncoderStack(scope / "decoder", config.decoder, false);
  output = config.tie_embeddings ? LinearWeight{token_embedding.table, Tensor()}
                                 : nn::Linear(scope / "output", config.decoder.d_model, config.vocabulary,
                                              {.bias = false, .init_deviation = config.decoder.init_deviation})
                                       .map;
  if (config.output_bias) output.bias = scope.declare("output_bias", {config.vocabulary}, nn::Init::zeros());
  if (seed) parameters.allocate(*seed);
}

Tensor Decoder::hidden(const TokenBatch& batch, const nn::Context& context) const {
  const Tensor x = token_embedding(batch, stack.positions, context);
  return stack.forward({.x = x, .spans = batch.spans, .causal = true}, context);
}

Tensor Decoder::next_hidden(const TokenBatch& tokens, const nn::StepCache& cache, const nn::Context& context) const {
  const Tensor x = token_embedding(tokens, stack.positions, context);
  return stack.forward({.x = x, .spans = tokens.spans, .causal = true, .cache = &cache}, context);
}

Tensor Decoder::logits(const TokenBatch& batch, const nn::Context& context) const {
  return linear(hidden(batch, context), output);
}

LossResult Decoder::loss(const TokenBatch& batch, std::span<const int32_t> labels, const LossArgs& args,
                         const nn::Context& context) const {
  return vocabulary_loss(hidden(batch, context), output, labels, args);
}

}  // namespace heed::models
