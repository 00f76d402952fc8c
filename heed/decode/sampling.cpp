#include "heed/decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "heed/base/buffer.h"
#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/io/fingerprint.h"
#include "heed/kernels/softmax.h"
#include "heed/kernels/top_k.h"

namespace heed::decode {
namespace {

// In [0, 1), 53 bits.
double draw(const SampleKey& key) {
  const Philox bits = philox({key.position, key.sample, key.text, 0x73616d70},
                             {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return static_cast<double>((uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
}

TokenChoice likeliest(std::span<const float> logits) {
  TokenChoice best;
  kernels::top_k({1, static_cast<int64_t>(logits.size()), 1, logits.data(), &best.id, &best.log_prob});
  return best;
}

// Each id once.
std::vector<int32_t> distinct(std::span<const int32_t> a, std::span<const int32_t> b) {
  std::vector<int32_t> ids(a.begin(), a.end());
  ids.insert(ids.end(), b.begin(), b.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// The ids to draw from, and the probability that each had among all.
struct Kept {
  std::vector<int32_t> ids;
  std::vector<double> weights;
  double total = 0;

  void cut_top_p(double top_p) {
    double held = 0;
    size_t count = 0;
    while (count < weights.size() && held < top_p * total) held += weights[count++];
    ids.resize(count), weights.resize(count);
    total = held;
  }
  void cut_min_p(double least) {
    size_t count = 0;
    total = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (weights[i] < least) continue;
      ids[count] = ids[i], weights[count++] = weights[i];
      total += weights[i];
    }
    ids.resize(count), weights.resize(count);
  }
};

Kept kept_ids(std::span<const float> logits, const float* probability, const SamplingConfig& config) {
  const size_t V = logits.size();
  const size_t k = config.top_k > 0 ? std::min(V, static_cast<size_t>(config.top_k)) : V;
  Kept kept;
  // What is less likely than all that top-p leaves out together is left out: so there is little to sort.
  const double least = k == V && config.top_p < 1 ? 0.5 * (1 - config.top_p) / static_cast<double>(V) : 0;
  for (size_t i = 0; i < V; ++i) {
    const double p = double{probability[i]};
    kept.total += p;
    if (p > least) kept.ids.push_back(static_cast<int32_t>(i));
  }
  if (k < V || config.top_p < 1) {
    const auto likelier = [&](int32_t a, int32_t b) {
      const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    };
    const size_t sorted = std::min(k, kept.ids.size());
    std::partial_sort(kept.ids.begin(), kept.ids.begin() + static_cast<int64_t>(sorted), kept.ids.end(), likelier);
    kept.ids.resize(sorted);
  }
  for (const int32_t id : kept.ids) kept.weights.push_back(double{probability[id]});
  if (k < V) kept.total = std::accumulate(kept.weights.begin(), kept.weights.end(), 0.0);
  return kept;
}

}  // namespace

bool SamplingConfig::changes_logits() const {
  return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0 || !ban.empty() || !bias.empty();
}

void SamplingConfig::check() const {
  if (!(temperature >= 0 && temperature <= 1e6)) fail("[sampling] temperature {}: expected 0 to 1e6", temperature);
  if (top_k < 0) fail("[sampling] top-k {}: expected at least 0", top_k);
  if (!(top_p > 0 && top_p <= 1)) fail("[sampling] top-p {}: expected more than 0, at most 1", top_p);
  if (!(min_p >= 0 && min_p <= 1)) fail("[sampling] min-p {}: expected 0 to 1", min_p);
  if (!(repetition_penalty > 0 && repetition_penalty <= 1e6)) {
    fail("[sampling] repetition penalty {}: expected more than 0, at most 1e6", repetition_penalty);
  }
  for (const double penalty : {presence_penalty, frequency_penalty}) {
    if (!(std::abs(penalty) <= 1e6)) fail("[sampling] penalty {}: expected -1e6 to 1e6", penalty);
  }
  for (const Bias& b : bias) {
    if (!std::isfinite(b.add)) fail("[sampling] a bias of {} for id {}: expected a finite number", b.add, b.id);
  }
}

void SamplingConfig::check_ids(int64_t vocabulary) const {
  const auto check = [&](const char* what, int32_t id) {
    if (id < 0 || id >= vocabulary) fail("[sampling] {} of id {}: expected 0 to {}", what, id, vocabulary - 1);
  };
  for (const int32_t id : ban) check("a ban", id);
  for (const Bias& b : bias) check("a bias", b.id);
}

void change_logits(std::span<float> logits, const SamplingConfig& config, const Said& said) {
  const auto logit = [&](int32_t id) -> float& { return logits[static_cast<size_t>(id)]; };
  if (config.repetition_penalty != 1) {
    const float penalty = static_cast<float>(config.repetition_penalty);
    for (const int32_t id : distinct(said.prompt, said.answer)) {
      logit(id) = logit(id) > 0 ? logit(id) / penalty : logit(id) * penalty;
    }
  }
  if (config.frequency_penalty != 0) {
    for (const int32_t id : said.answer) logit(id) -= static_cast<float>(config.frequency_penalty);
  }
  if (config.presence_penalty != 0) {
    for (const int32_t id : distinct(said.answer, {})) logit(id) -= static_cast<float>(config.presence_penalty);
  }
  for (const Bias& b : config.bias) logit(b.id) += b.add;
  for (const int32_t id : config.ban) logit(id) = -std::numeric_limits<float>::infinity();
}

uint32_t text_key(std::span<const int32_t> ids) {
  const uint64_t all = fingerprint(std::as_bytes(ids));
  return static_cast<uint32_t>(all ^ (all >> 32));
}

TokenChoice sample_token(std::span<const float> logits, const SamplingConfig& config, const SampleKey& key) {
  const TokenChoice best = likeliest(logits);
  if (best.id < 0 || !std::isfinite(best.log_prob)) return {};  // all are masked, or a logit is NaN or infinite
  if (config.temperature == 0 || config.top_k == 1) return best;
  const int64_t V = static_cast<int64_t>(logits.size());
  const Scratch<float> probability(V);
  const float top = logits[static_cast<size_t>(best.id)];
  const double inverse = 1 / config.temperature;
  // From the top, so that a temperature near 0 overflows nothing.
  for (int64_t i = 0; i < V; ++i) {
    probability[i] = static_cast<float>(double{logits[static_cast<size_t>(i)] - top} * inverse);
  }
  kernels::softmax(probability.data(), probability.data(), 1, V);
  Kept kept = kept_ids(logits, probability.data(), config);
  if (config.top_p < 1) kept.cut_top_p(config.top_p);
  if (config.min_p > 0) kept.cut_min_p(config.min_p * double{probability[best.id]});
  double left = draw(key) * kept.total;
  size_t chosen = 0;
  while (chosen + 1 < kept.weights.size() && left >= kept.weights[chosen]) left -= kept.weights[chosen++];
  const int32_t id = kept.ids.empty() ? best.id : kept.ids[chosen];
  return {id, logits[static_cast<size_t>(id)] - top + best.log_prob};
}

float log_sum_exp(std::span<const float> logits) {
  const TokenChoice best = likeliest(logits);
  return best.id < 0 ? std::numeric_limits<float>::infinity() : logits[static_cast<size_t>(best.id)] - best.log_prob;
}

float log_probability(std::span<const float> logits, int32_t id) {
  const TokenChoice best = likeliest(logits);
  if (best.id < 0) return -std::numeric_limits<float>::infinity();
  return logits[static_cast<size_t>(id)] - logits[static_cast<size_t>(best.id)] + best.log_prob;
}

}  // namespace heed::decode
