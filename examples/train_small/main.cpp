// Trains a small encoder-decoder to write a sequence of digits backwards, and prints how its loss falls.
#include <heed/base/random.h>
#include <heed/models/encoder_decoder.h>
#include <heed/train/optimizer.h>
#include <heed/train/schedule.h>

#include <cstdio>
#include <exception>
#include <vector>

namespace {

constexpr int kDigits = 10, kStart = 10, kEnd = 11, kVocabulary = 12;

heed::models::ModelConfig small_config() {
  heed::nn::StackConfig stack;
  stack.layers = 2;
  stack.d_model = 64;
  stack.heads = 4;
  stack.d_ff = 128;
  stack.dropout.residual = 0.1f;

  heed::models::ModelConfig config;
  config.family = heed::models::Family::kEncoderDecoder;
  config.encoder = config.decoder = stack;
  config.source_vocabulary = config.vocabulary = kVocabulary;
  return config;
}

// 32 sequences of 3 to 8 digits. They lie one after the other: no padding anywhere.
heed::models::PairBatch next_batch(heed::Random& random) {
  heed::models::PairBatch batch;
  std::vector<int64_t> source_lengths, target_lengths;
  for (int sequence = 0; sequence < 32; ++sequence) {
    std::vector<int32_t> digits(3 + random.below(6));
    for (int32_t& digit : digits) digit = static_cast<int32_t>(random.below(kDigits));

    batch.source.ids.insert(batch.source.ids.end(), digits.begin(), digits.end());
    // The decoder reads the target shifted right: what it should write, one position later.
    batch.target.ids.push_back(kStart);
    batch.target.ids.insert(batch.target.ids.end(), digits.rbegin(), digits.rend());
    batch.labels.insert(batch.labels.end(), digits.rbegin(), digits.rend());
    batch.labels.push_back(kEnd);

    source_lengths.push_back(static_cast<int64_t>(digits.size()));
    target_lengths.push_back(static_cast<int64_t>(digits.size()) + 1);
  }
  batch.source.spans = heed::Spans(source_lengths);
  batch.target.spans = heed::Spans(target_lengths);
  return batch;
}

void train(int64_t steps) {
  const heed::models::EncoderDecoder model(small_config(), /*seed=*/1);
  heed::train::Optimizer optimizer(model.parameters, {.clip_norm = 1});
  heed::train::Schedule schedule;
  schedule.kind = heed::train::ScheduleKind::kCosine;
  schedule.peak = 2e-3;
  schedule.warmup = 50;
  schedule.total_steps = steps;

  std::printf("%lld parameters\n", static_cast<long long>(model.parameters.count()));
  heed::Random random(/*seed=*/7);
  for (int64_t step = 1; step <= steps; ++step) {
    const heed::models::PairBatch batch = next_batch(random);
    heed::nn::Context context;
    context.training = true;
    context.seed = 1;
    context.step = static_cast<uint64_t>(step);
    const heed::LossResult result = model.loss(batch, {.smoothing = 0.0f}, context);
    result.loss.backward();
    optimizer.step(heed::train::learning_rate(schedule, step));
    if (step == 1 || step % 50 == 0) {
      std::printf("step %4lld  loss %.4f\n", static_cast<long long>(step),
                  result.nll / static_cast<double>(result.rows));
    }
  }
}

}  // namespace

int main() {
  try {
    train(400);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_small: %s\n", error.what());
    return 1;
  }
}
