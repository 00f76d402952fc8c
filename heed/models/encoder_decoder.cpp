#include "heed/models/encoder_decoder.h"

namespace heed::models {

EncoderDecoder::EncoderDecoder(const ModelConfig& model_config, std::optional<uint64_t> seed) : config(model_config) {
  config.check();
  const nn::Scope scope(parameters);
  if (config.vocabulary > 0) {
    target_embedding = TokenEmbedding(scope / "shared", config.vocabulary, config.decoder, config.scale_embedding);
    source_embedding = config.share_source ? target_embedding
                                           : TokenEmbedding(scope / "source", config.source_vocabulary, config.encoder,
                                                            config.scale_embedding);
    source_embedding.dropout = config.encoder.dropout.embedding;
  }
  encoder = nn::EncoderStack(scope / "encoder", config.encoder, true);
  decoder = nn::DecoderStack(scope / "decoder", config.decoder, false);
  if (config.vocabulary > 0) {
    output = config.tie_embeddings ? LinearWeight{target_embedding.table, Tensor()}
                                   : nn::Linear(scope / "output", config.decoder.d_model, config.vocabulary,
                                                {.bias = false, .init_deviation = config.decoder.init_deviation})
                                         .map;
    if (config.output_bias) output.bias = scope.declare("output_bias", {config.vocabulary}, nn::Init::zeros());
  }
  if (seed) parameters.allocate(*seed);
}

Tensor EncoderDecoder::body(const nn::StackInput& source, const nn::StackInput& target,
                            const nn::Context& context) const {
  nn::StackInput in = target;
  in.causal = true;
  in.memory = encoder.forward(source, context);  // (T, C)
  in.memory_spans = source.spans;
  return decoder.forward(in, context);  // (T', C)
}

Tensor EncoderDecoder::encode(const TokenBatch& source, const nn::Context& context) const {
  return encoder.forward({source_embedding(source, encoder.positions, context, 0), source.spans}, context);
}

Tensor EncoderDecoder::next_hidden(const TokenBatch& tokens, const nn::StepCache& cache,
                                   const nn::Context& context) const {
  nn::StackInput in{target_embedding(tokens, decoder.positions, context, 1), tokens.spans};
  in.causal = true;
  in.cache = &cache;
  return decoder.forward(in, context);
}

Tensor EncoderDecoder::hidden(const PairBatch& batch, const nn::Context& context) const {
  const Tensor source = source_embedding(batch.source, encoder.positions, context, 0);
  const Tensor target = target_embedding(batch.target, decoder.positions, context, 1);
  return body({source, batch.source.spans}, {target, batch.target.spans}, context);
}

Tensor EncoderDecoder::logits(const PairBatch& batch, const nn::Context& context) const {
  return linear(hidden(batch, context), output);
}

LossResult EncoderDecoder::loss(const PairBatch& batch, const LossArgs& args, const nn::Context& context) const {
  return vocabulary_loss(hidden(batch, context), output, batch.labels, args);
}

}  // namespace heed::models
