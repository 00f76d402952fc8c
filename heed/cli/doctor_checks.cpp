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
  for (int64_t t = 0; t < batch.spans.tokens(); ++t)
    batch.ids.push_back(static_cast<int32_t>(random.below(kVocabulary)));
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

Verdict verdict(bool good) { return good ? Verdict::kGood : Verdict::kBad; }

// Half along the claimed gradient, where rounding matters least, and half anywhere: a gradient that is missing, in part or
// whole, is found there.
std::vector<double> direction(const std::vector<float>& gradient, double norm, Random& random) {
  std::vector<double> d(gradient.size());
  const double spread = std::sqrt(static_cast<double>(d.size()));
  for (size_t i = 0; i < d.size(); ++i) {
    d[i] = (random.below(2) ? 1 : -1) / spread + (norm > 0 ? gradient[i] / norm : 0);
  }
  double length = 0;
  for (const double x : d) length += x * x;
  for (double& x : d) x /= std::sqrt(length);
  return d;
}

// How far the slope of the loss along a direction is from what the gradient says.
double slope_error(const nn::Parameter& p, const std::function<double()>& loss, Random& random) {
  const std::vector<float> gradient = p.tensor.grad().to_vector(), start = p.tensor.to_vector();
  double norm = 0, expected = 0;
  for (const float g : gradient) norm += double{g} * g;
  norm = std::sqrt(norm);
  const std::vector<double> d = direction(gradient, norm, random);
  for (size_t i = 0; i < d.size(); ++i) expected += d[i] * gradient[i];
  const auto loss_at = [&](double distance) {
    for (size_t i = 0; i < start.size(); ++i) p.tensor.data()[i] = static_cast<float>(start[i] + distance * d[i]);
    return loss();
  };
  // Two distances and Richardson's extrapolation: the error of the cubic term cancels.
  const double h = std::min(0.1, 0.02 / std::max(norm, 1e-9));
  const double wide = (loss_at(h) - loss_at(-h)) / (2 * h), narrow = (loss_at(h / 2) - loss_at(-h / 2)) / h;
  std::copy(start.begin(), start.end(), p.tensor.data());
  // Slopes near 0 count as one of 0.005: the loss itself is rounded.
  return std::abs((4 * narrow - wide) / 3 - expected) / std::max(std::abs(expected), 0.005);
}

Finding check_gradients() {
  EncoderDecoder model(small_config(0), 3);
  const PairBatch batch = pairs({5, 9, 3}, {6, 4, 7}, 4);
  constexpr float kLossScale = 0.0625f;
  const auto loss = [&] { return model.loss(batch, {.scale = kLossScale}, {}); };
  loss().loss.backward();
  return compare_gradients(model.parameters, [&] {
    const NoGrad no_grad;
    return kLossScale * loss().nll;  // the same number before it is rounded to a float
  });
}

Finding check_future() {
  const EncoderDecoder model(small_config(0), 3);
  PairBatch batch = pairs({7}, {12}, 5);
  const NoGrad no_grad;
  const Tensor before = model.logits(batch, {});
  constexpr int64_t kChanged = 8;
  for (size_t t = kChanged; t < batch.target.ids.size(); ++t)
    batch.target.ids[t] = (batch.target.ids[t] + 1) % kVocabulary;
  const Tensor after = model.logits(batch, {});
  const bool past_same = same_bits(before.data(), after.data(), kChanged * kVocabulary);
  const bool rest_same =
      same_bits(before.data() + kChanged * kVocabulary, after.data() + kChanged * kVocabulary, kVocabulary);
  const char* outcome = !past_same  ? "some before them changed too"
                        : rest_same ? "and nothing followed"
                                    : "those before kept every bit";
  return {verdict(past_same && !rest_same), fmt::format("tokens from {} on were changed: {}", kChanged, outcome)};
}

Finding check_neighbours() {
  const EncoderDecoder model(small_config(0), 3);
  const NoGrad no_grad;
  const PairBatch alone = pairs({9}, {11}, 6);
  PairBatch among = pairs({4, 9, 17}, {20, 11, 1}, 7);
  std::copy(alone.source.ids.begin(), alone.source.ids.end(), among.source.ids.begin() + 4);
  std::copy(alone.target.ids.begin(), alone.target.ids.end(), among.target.ids.begin() + 20);
  const Tensor one = model.logits(alone, {}), many = model.logits(among, {});
  const bool same = same_bits(one.data(), many.data() + 20 * kVocabulary, 11 * kVocabulary);
  return {verdict(same),
          fmt::format("a sentence alone and among others gave {} bits", same ? "the same" : "different")};
}

std::vector<float> weights_after_training(int threads) {
  set_num_threads(threads);
  EncoderDecoder model(small_config(0.1f), 3);
  train::Optimizer optimizer(model.parameters, {.clip_norm = 1});
  const PairBatch batch = pairs({5, 30, 12, 8, 40, 3}, {9, 22, 14, 6, 31, 5}, 8);
  for (uint64_t step = 1; step <= 3; ++step) {
    model.loss(batch, {.smoothing = 0.1f}, {.training = true, .seed = 1, .step = step, .trace = nullptr})
        .loss.backward();
    optimizer.step(1e-3);
  }
  return {model.parameters.values(), model.parameters.values() + model.parameters.arena_size()};
}

Finding check_threads() {
  const int wanted = num_threads(), most = std::max(3, wanted);
  const std::vector<float> one = weights_after_training(1);
  bool same = true;
  const auto like_one = [&](int threads) {
    const std::vector<float> weights = weights_after_training(threads);
    return same_bits(weights.data(), one.data(), static_cast<int64_t>(one.size()));
  };
  for (int n = 2; n <= std::min(most, 4); ++n) same = same && like_one(n);
  same = same && like_one(most);
  set_num_threads(wanted);
  return {verdict(same), fmt::format("{} weights after three training steps with dropout at 1 to {} threads {}",
                                     one.size(), most, same ? "are the same" : "differ")};
}

// By turns and briefly, the best of each: a load that comes and goes meets both.
Finding check_products() {
  double wall = 0, reached = 0;
  for (int round = 0; round < 10; ++round) {
    wall = std::max(wall, kernels::fma_gflops(0.05));
    reached = std::max(reached, product_peak(0.15, false));
  }
  return judge_products(reached, wall);
}

}  // namespace

Finding compare_gradients(const nn::Parameters& parameters, const std::function<double()>& loss) {
  parameters.finish_gradients();
  constexpr int kDirections = 4;  // a gradient that is missing may lie across one
  Random random(9);
  double worst = 0;
  std::string where = "none";
  for (const nn::Parameter& p : parameters.list()) {
    for (int i = 0; i < kDirections; ++i) {
      const double error = slope_error(p, loss, random);
      if (std::isnan(error) || error > worst) worst = error, where = p.name;  // NaN is the worst, and stays
    }
  }
  return {verdict(worst < 1e-2), fmt::format("{} parameter tensors, largest relative difference {:.1e} ({})",
                                             parameters.list().size(), worst, where)};
}

Finding judge_products(double reached, double wall) {
  const double share = reached / wall;
  const std::string measured =
      fmt::format("{:.0f} GFLOP/s, {:.0f} % of the {:.0f} that {} threads reach in registers alone", reached,
                  100 * share, wall, num_threads());
  if (share > 1.05) return {Verdict::kOpen, measured + ": not measurable now, the machine is busy"};
  if (!(share >= 0.25))
    return {Verdict::kBad, measured + ": expected 75 %, and a busy machine does not explain so little"};
  if (share < 0.75) return {Verdict::kOpen, measured + ": expected 75 %; is the machine busy?"};
  return {Verdict::kGood, measured};
}

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
