#include "heed/cli/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/cli/measure.h"
#include "heed/kernels/peak.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/train/optimizer.h"

namespace heed::cli {
namespace {

using namespace models;

constexpr int64_t kVocabulary = 50;

// A small translator with every part of the paper's.
ModelConfig small_config(float dropout) {
  ModelConfig c = preset("tiny");
  for (nn::StackConfig* s : {&c.encoder, &c.decoder}) {
    s->layers = 2;
    s->d_model = 32;
    s->d_ff = 64;
    s->activation = kernels::Activation::kGelu;  // smooth: ReLU's corners are no place for finite differences
    s->dropout = {dropout, dropout, dropout, dropout};
  }
  c.vocabulary = c.source_vocabulary = kVocabulary;
  return c;
}

TokenBatch tokens(const std::vector<int64_t>& lengths, Random& random) {
  TokenBatch batch{{}, Spans(lengths)};
  for (int64_t t = 0; t < batch.spans.tokens(); ++t) batch.ids.push_back(static_cast<int32_t>(random.below(kVocabulary)));
  return batch;
}

PairBatch pairs(const std::vector<int64_t>& sources, const std::vector<int64_t>& targets, uint64_t seed) {
  Random random(seed);
  PairBatch batch{tokens(sources, random), tokens(targets, random), {}};
  batch.labels = tokens(targets, random).ids;
  return batch;
}

bool same_bits(const float* a, const float* b, int64_t n) {
  return std::memcmp(a, b, static_cast<size_t>(n) * sizeof(float)) == 0;
}

// The directional derivative of the loss along the gradient itself, against a central difference.
Finding check_gradients() {
  EncoderDecoder model(small_config(0), 3);
  const PairBatch batch = pairs({5, 9, 3}, {6, 4, 7}, 4);
  const auto loss = [&] { return model.loss(batch, {.smoothing = 0.1f}, {}).loss; };
  loss().backward();
  model.parameters.finish_gradients();
  double worst = 0;
  for (const nn::Parameter& p : model.parameters.list()) {
    const std::vector<float> gradient = p.tensor.grad().to_vector();
    double norm = 0;
    for (const float g : gradient) norm += double{g} * g;
    norm = std::sqrt(norm);
    if (norm < 1e-4) continue;  // a key's bias moves nothing: softmax ignores a shift
    const std::vector<float> start = p.tensor.to_vector();
    const auto loss_at = [&](double distance) {
      for (size_t i = 0; i < start.size(); ++i) {
        p.tensor.data()[i] = start[i] + static_cast<float>(distance * gradient[i] / norm);
      }
      const NoGrad no_grad;
      return static_cast<double>(loss().item());
    };
    // Two distances and Richardson's extrapolation: the error of the cubic term cancels.
    const double h = std::min(0.05, 0.02 / norm);
    const double wide = (loss_at(h) - loss_at(-h)) / (2 * h), narrow = (loss_at(h / 2) - loss_at(-h / 2)) / h;
    std::copy(start.begin(), start.end(), p.tensor.data());
    worst = std::max(worst, std::abs((4 * narrow - wide) / 3 - norm) / norm);
  }
  return {worst < 1e-2, fmt::format("{} parameter tensors, largest relative difference {:.1e}", model.parameters.list().size(), worst)};
}

Finding check_future() {
  const EncoderDecoder model(small_config(0), 3);
  PairBatch batch = pairs({7}, {12}, 5);
  const NoGrad no_grad;
  const Tensor before = model.logits(batch, {});
  constexpr int64_t kChanged = 8;
  for (size_t t = kChanged; t < batch.target.ids.size(); ++t) batch.target.ids[t] = (batch.target.ids[t] + 1) % kVocabulary;
  const Tensor after = model.logits(batch, {});
  const bool past_same = same_bits(before.data(), after.data(), kChanged * kVocabulary);
  const bool rest_same = same_bits(before.data() + kChanged * kVocabulary, after.data() + kChanged * kVocabulary, kVocabulary);
  return {past_same && !rest_same, fmt::format("tokens from {} on were changed: the {} before kept every bit", kChanged, kChanged)};
}

Finding check_neighbours() {
  const EncoderDecoder model(small_config(0), 3);
  const NoGrad no_grad;
  const PairBatch alone = pairs({9}, {11}, 6);
  PairBatch among = pairs({4, 9, 17}, {20, 11, 1}, 7);
  std::copy(alone.source.ids.begin(), alone.source.ids.end(), among.source.ids.begin() + 4);
  std::copy(alone.target.ids.begin(), alone.target.ids.end(), among.target.ids.begin() + 20);
  const Tensor one = model.logits(alone, {}), many = model.logits(among, {});
  return {same_bits(one.data(), many.data() + 20 * kVocabulary, 11 * kVocabulary),
          "a sentence alone and among others gave the same bits"};
}

std::vector<float> weights_after_training(int threads) {
  set_num_threads(threads);
  EncoderDecoder model(small_config(0.1f), 3);
  train::Optimizer optimizer(model.parameters, {.clip_norm = 1});
  const PairBatch batch = pairs({5, 30, 12, 8, 40, 3}, {9, 22, 14, 6, 31, 5}, 8);
  for (uint64_t step = 1; step <= 3; ++step) {
    model.loss(batch, {.smoothing = 0.1f}, {.training = true, .seed = 1, .step = step, .trace = nullptr}).loss.backward();
    optimizer.step(1e-3);
  }
  return {model.parameters.values(), model.parameters.values() + model.parameters.arena_size()};
}

Finding check_threads() {
  const int wanted = num_threads(), most = std::max(3, wanted);
  const std::vector<float> one = weights_after_training(1);
  bool same = true;
  for (int n = 2; n <= std::min(most, 4); ++n) same = same && weights_after_training(n) == one;
  same = same && weights_after_training(most) == one;
  set_num_threads(wanted);
  return {same, fmt::format("{} weights after three training steps with dropout at 1 to {} threads", one.size(), most)};
}

Finding check_products() {
  const double wall = kernels::fma_gflops(0.5), reached = product_peak(1.5);
  return {reached > 0.75 * wall, fmt::format("{:.0f} GFLOP/s, {:.0f} % of the {:.0f} that {} threads reach in registers alone",
                                             reached, 100 * reached / wall, wall, num_threads())};
}

}  // namespace

const std::vector<Check>& doctor_checks() {
  static const std::vector<Check> checks = {
      {"gradients", "Gradients agree with finite differences", check_gradients},
      {"causality", "Future tokens have no effect", check_future},
      {"batch", "Neighbours in a batch have no effect", check_neighbours},
      {"threads", "The number of threads has no effect", check_threads},
      {"products", "Products are near what the CPU can do", check_products},
  };
  return checks;
}

}  // namespace heed::cli
