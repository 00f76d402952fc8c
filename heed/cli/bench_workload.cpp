#include "heed/cli/bench_workload.h"

#include <sstream>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/models/arithmetic.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"

namespace heed::cli {
namespace {

using namespace models;

std::vector<int32_t> random_ids(int64_t n, int64_t vocabulary, Random& random) {
  std::vector<int32_t> ids(static_cast<size_t>(n));
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary)));
  return ids;
}

TokenBatch random_tokens(const std::vector<int64_t>& lengths, int64_t vocabulary, Random& random) {
  TokenBatch batch{{}, Spans(lengths)};
  batch.ids = random_ids(batch.spans.tokens(), vocabulary, random);
  return batch;
}

std::vector<PairBatch> translation_batches(const std::string& preset, int64_t vocabulary, Random& random) {
  std::vector<PairBatch> batches;
  std::istringstream lines(batch_lengths(preset));
  for (std::string line; std::getline(lines, line);) {
    std::vector<int64_t> sources, targets;
    std::istringstream pairs(line);
    char colon;
    for (int64_t s, t; pairs >> s >> colon >> t;) {
      sources.push_back(s);
      targets.push_back(t);
    }
    if (sources.empty()) continue;
    PairBatch batch{random_tokens(sources, vocabulary, random), random_tokens(targets, vocabulary, random), {}};
    batch.labels = random_ids(batch.target.spans.tokens(), vocabulary, random);
    batches.push_back(std::move(batch));
  }
  return batches;
}

Workload translator(const std::string& name, uint64_t seed) {
  ModelConfig with_norms = preset(name);
  with_norms.encoder.final_norm = with_norms.decoder.final_norm = true;  // as its peer, PyTorch's nn.Transformer, has
  const auto model = std::make_shared<EncoderDecoder>(with_norms, seed);
  const ModelConfig& c = model->config;
  Random random(seed, 1);
  const auto batches = std::make_shared<std::vector<PairBatch>>(translation_batches(name, c.vocabulary, random));
  Workload w;
  w.unit = "tokens";
  for (const PairBatch& b : *batches) {
    const Spans &source = b.source.spans, &target = b.target.spans;
    w.count.push_back(static_cast<double>(source.tokens() + target.tokens()));
    w.flops.push_back(stack_step_flops(c.encoder, source, false) + stack_step_flops(c.decoder, target, true) +
                      cross_step_flops(c.decoder, target, source) +
                      linear_step_flops(static_cast<double>(target.tokens()), static_cast<double>(c.decoder.d_model),
                                        static_cast<double>(c.vocabulary)));
  }
  w.loss = [model, batches](size_t i, const nn::Context& context) {
    return model->loss((*batches)[i], {.smoothing = 0.1f}, context);
  };
  w.parameters = {model, &model->parameters};
  w.optimizer = {.clip_norm = 1};
  return w;
}

struct LanguageBatch {
  TokenBatch tokens;
  std::vector<int32_t> labels;
};

Workload language_model(const std::string& name, int64_t sequences, int64_t length, double beta2, uint64_t seed) {
  const auto model = std::make_shared<Decoder>(preset(name), seed);
  const ModelConfig& c = model->config;
  Random random(seed, 1);
  const auto batches = std::make_shared<std::vector<LanguageBatch>>();
  Workload w;
  w.unit = "tokens";
  for (int i = 0; i < 4; ++i) {
    const std::vector<int64_t> lengths(static_cast<size_t>(sequences), length);
    batches->push_back(
        {random_tokens(lengths, c.vocabulary, random), random_ids(sequences * length, c.vocabulary, random)});
    const Spans& spans = batches->back().tokens.spans;
    const double T = static_cast<double>(spans.tokens());
    w.count.push_back(T);
    w.flops.push_back(stack_step_flops(c.decoder, spans, true) +
                      linear_step_flops(T, static_cast<double>(c.decoder.d_model), static_cast<double>(c.vocabulary)));
  }
  w.loss = [model, batches](size_t i, const nn::Context& context) {
    return model->loss((*batches)[i].tokens, (*batches)[i].labels, {}, context);
  };
  w.parameters = {model, &model->parameters};
  w.optimizer = {
      .kind = train::OptimizerKind::kAdamW, .beta2 = beta2, .eps = 1e-8, .weight_decay = 0.1, .clip_norm = 1};
  return w;
}

Workload image_classifier(uint64_t seed) {
  const auto model = std::make_shared<Encoder>(preset("vit"), seed);
  const ModelConfig& c = model->config;
  Random random(seed, 1);
  const auto batches = std::make_shared<std::vector<ImageBatch>>();
  constexpr int64_t kImages = 256;
  Workload w;
  w.unit = "images";
  for (int i = 0; i < 4; ++i) {
    std::vector<float> pixels(static_cast<size_t>(kImages * c.image_size * c.image_size));
    for (float& p : pixels) p = random.normal();
    batches->push_back(image_batch(pixels, random_ids(kImages, c.classes, random), c));
    const ImageBatch& b = batches->back();
    w.count.push_back(kImages);
    // The patches are data: their gradient is not taken, a third of the work less.
    w.flops.push_back(stack_step_flops(c.encoder, b.spans, false) +
                      2.0 / 3 *
                          linear_step_flops(static_cast<double>(b.patches.rows()),
                                            static_cast<double>(b.patches.cols()),
                                            static_cast<double>(c.encoder.d_model)));
  }
  w.loss = [model, batches](size_t i, const nn::Context& context) { return model->loss((*batches)[i], {}, context); };
  w.parameters = {model, &model->parameters};
  w.optimizer = {
      .kind = train::OptimizerKind::kAdamW, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .clip_norm = 1};
  return w;
}

}  // namespace

const std::vector<std::string>& workload_names() {
  static const std::vector<std::string> names = {"tiny", "base", "chargpt", "gpt2", "vit"};
  return names;
}

Workload training_workload(const std::string& name, uint64_t seed) {
  if (name == "tiny" || name == "base") return translator(name, seed);
  if (name == "chargpt") return language_model(name, 16, 256, 0.99, seed);
  if (name == "gpt2") return language_model(name, 4, 64, 0.95, seed);
  if (name == "vit") return image_classifier(seed);
  fail("[bench train] unknown preset '{}'{}", name, nearest_is(name, workload_names()));
}

}  // namespace heed::cli
