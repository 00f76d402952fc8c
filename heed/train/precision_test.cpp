// bf16 products against f32: losses of the same model differ by less than those of other seeds do.
#include <algorithm>
#include <cmath>

#include "heed/base/threads.h"
#include "heed/models/encoder_decoder.h"
#include "heed/tensor/testing.h"
#include "heed/train/optimizer.h"

namespace heed::train {
namespace {

constexpr int kSteps = 30;
constexpr int32_t kVocabulary = 60;

// Targets are the sources backwards: something to learn.
models::PairBatch batch_of_step(int step) {
  Random random(7, static_cast<uint64_t>(step));
  models::PairBatch batch;
  std::vector<int64_t> lengths;
  for (int s = 0; s < 8; ++s) {
    lengths.push_back(4 + static_cast<int64_t>(random.below(8)));
    std::vector<int32_t> words;
    for (int64_t i = 0; i < lengths.back(); ++i)
      words.push_back(2 + static_cast<int32_t>(random.below(kVocabulary - 2)));
    batch.source.ids.insert(batch.source.ids.end(), words.begin(), words.end());
    std::reverse(words.begin(), words.end());
    batch.labels.insert(batch.labels.end(), words.begin(), words.end());
    batch.target.ids.push_back(1);
    batch.target.ids.insert(batch.target.ids.end(), words.begin(), words.end() - 1);
  }
  batch.source.spans = batch.target.spans = Spans(lengths);
  return batch;
}

std::vector<float> losses(Precision precision, uint64_t seed) {
  const PrecisionScope scope(precision);
  models::ModelConfig config;
  config.encoder.layers = 1;
  config.encoder.d_model = 32;
  config.encoder.heads = 4;
  config.encoder.d_ff = 64;
  config.decoder = config.encoder;
  config.vocabulary = config.source_vocabulary = kVocabulary;
  const models::EncoderDecoder model(config, seed);
  Optimizer optimizer(model.parameters, {.clip_norm = 1});
  std::vector<float> all;
  for (int step = 0; step < kSteps; ++step) {
    const LossResult r = model.loss(batch_of_step(step), {.smoothing = 0.1f}, {});
    r.loss.backward();
    optimizer.step(2e-3);
    all.push_back(r.loss.item());
  }
  return all;
}

TEST(Precision, Bf16StaysWithinTheSpreadOfSeeds) {
  const ThreadsScope one_thread(1);  // small steps
  std::vector<std::vector<float>> f32;
  for (const uint64_t seed : {1, 2, 3, 4}) f32.push_back(losses(Precision::kF32, seed));
  const std::vector<float> bf16 = losses(Precision::kBf16, 1);
  EXPECT_NE(bf16, f32[0]);  // it is another precision
  EXPECT_LT(bf16.back(), bf16.front());
  for (size_t step = 0; step < bf16.size(); ++step) {
    float least = f32[0][step], most = least;
    for (const auto& curve : f32) least = std::min(least, curve[step]), most = std::max(most, curve[step]);
    EXPECT_LE(std::abs(bf16[step] - f32[0][step]), most - least) << "step " << step;
  }
}

}  // namespace
}  // namespace heed::train
