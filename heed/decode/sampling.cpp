#include "heed/decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/random.h"

namespace heed::decode {
namespace {

// In [0, 1), 53 bits.
double draw(const SampleKey& key) {
  const Philox bits = philox({key.position, key.sample, key.sequence, 0x73616d70},
                             {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return static_cast<double>((uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
}

}  // namespace

Sampled sample_token(std::span<const float> logits, const SearchConfig& config, const SampleKey& key) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int32_t id) { return logits[static_cast<size_t>(id)] == -INFINITY; });
  if (order.empty()) return {};
  const auto logit = [&](int32_t id) { return double{logits[static_cast<size_t>(id)]}; };
  const auto likelier = [&](int32_t a, int32_t b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); };
  const double top = logit(*std::min_element(order.begin(), order.end(), likelier));
  const double whole = std::accumulate(order.begin(), order.end(), 0.0,
                                       [&](double sum, int32_t id) { return sum + std::exp(logit(id) - top); });
  if (!std::isfinite(whole)) return {};  // a logit is NaN or infinite

  const size_t keep = config.top_k > 0 ? std::min(order.size(), static_cast<size_t>(config.top_k)) : order.size();
  if (keep < order.size() || config.top_p < 1) {
    std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(keep), order.end(), likelier);
    order.resize(keep);
  }
  std::vector<double> weight;
  for (const int32_t id : order) weight.push_back(std::exp((logit(id) - top) / config.temperature));
  double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (config.top_p < 1) {
    double held = 0;
    size_t count = 0;
    while (count < weight.size() && held < config.top_p * total) held += weight[count++];
    weight.resize(count);
    total = held;
  }
  double left = draw(key) * total;
  size_t chosen = 0;
  while (chosen + 1 < weight.size() && left >= weight[chosen]) left -= weight[chosen++];
  const int32_t id = order[chosen];
  return {id, static_cast<float>(logit(id) - top - std::log(whole))};
}

}  // namespace heed::decode
