#include "heed/models/encoder.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::models {

Encoder::Encoder(const ModelConfig& model_config, std::optional<uint64_t> seed) : config(model_config) {
  config.check();
  const nn::Scope scope(parameters);
  const nn::StackConfig& s = config.encoder;
  if (config.vocabulary > 0)
    token_embedding = TokenEmbedding(scope / "embedding", config.vocabulary, s, config.scale_embedding);
  if (config.image_size > 0) {
    const int64_t pixels = config.patch_size * config.patch_size * config.channels;
    patch_embedding = nn::Linear(scope / "patches", pixels, s.d_model, {.init_deviation = s.init_deviation});
    class_row = scope.declare("class_row", {s.d_model}, nn::Init::normal(0.02f));
    place = nn::place_of("patches");
  }
  stack = nn::EncoderStack(scope / "encoder", s, true);
  if (config.classes > 0)
    head = nn::Linear(scope / "head", s.d_model, config.classes, {.init_deviation = s.init_deviation});
  if (seed) parameters.allocate(*seed);
}

Tensor Encoder::hidden(const TokenBatch& batch, const nn::Context& context) const {
  const Tensor x = token_embedding(batch, stack.positions, context);
  return stack.forward({.x = x, .spans = batch.spans}, context);
}

Tensor Encoder::hidden(const ImageBatch& batch, const nn::Context& context) const {
  const Tensor patches = patch_embedding(batch.patches);  // (B n, C)
  Tensor x = with_class_row(patches, class_row, stack.positions.table(batch.spans.longest()), batch.spans);
  x = dropout(x, batch.spans, context.dropout(config.encoder.dropout.embedding, place));
  return stack.forward({.x = x, .spans = batch.spans}, context);
}

Tensor Encoder::logits(const ImageBatch& batch, const nn::Context& context) const {
  return head(select_rows(hidden(batch, context), batch.class_rows));
}

LossResult Encoder::loss(const ImageBatch& batch, const LossArgs& args, const nn::Context& context) const {
  return vocabulary_loss(select_rows(hidden(batch, context), batch.class_rows), head.map, batch.labels, args);
}

ImageBatch image_batch(std::span<const float> pixels, std::span<const int32_t> labels, const ModelConfig& config) {
  if (config.image_size <= 0 || config.patch_size <= 0)
    fail("[images] a model of images of {} in patches of {}: expected both above 0", config.image_size,
         config.patch_size);
  const int64_t size = config.image_size, patch = config.patch_size, channels = config.channels;
  const int64_t side = size / patch, n = side * side, B = static_cast<int64_t>(labels.size());
  if (static_cast<int64_t>(pixels.size()) != B * size * size * channels) {
    fail("[images] {} values for {} images: expected {}", pixels.size(), B, B * size * size * channels);
  }
  ImageBatch batch;
  batch.labels.assign(labels.begin(), labels.end());
  batch.spans = Spans::dense(B, n + 1);
  batch.patches = Tensor::empty({B * n, patch * patch * channels});
  float* out = batch.patches.data();
  const int64_t run = patch * channels;  // neighbours in memory
  for (int64_t b = 0; b < B; ++b) {
    batch.class_rows.push_back(static_cast<int32_t>(b * (n + 1)));
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t y = 0; y < patch; ++y) {
        const int64_t row = b * size + p / side * patch + y;
        out = std::copy_n(pixels.data() + (row * size + p % side * patch) * channels, run, out);
      }
    }
  }
  return batch;
}

}  // namespace heed::models
