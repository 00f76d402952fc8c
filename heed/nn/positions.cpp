#include "heed/nn/positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "heed/base/error.h"
#include "heed/kernels/rotary.h"

namespace heed::nn {
namespace {

// Slow pairs turn less than low_frequency_factor times within the original length and are divided; fast ones, more than
// high_frequency_factor times, stay; between the two it goes over smoothly.
// Rounded step by step as transformers does it (_compute_llama3_parameters).
float llama3_frequency(float frequency, const RotaryScale& s) {
  const auto length = static_cast<double>(s.original_length);
  const auto low = static_cast<float>(s.low_frequency_factor), factor = static_cast<float>(s.factor);
  const float wave = 1 / frequency * static_cast<float>(2 * std::numbers::pi);
  if (wave < static_cast<float>(length / s.high_frequency_factor)) return frequency;
  if (wave > static_cast<float>(length / s.low_frequency_factor)) return frequency / factor;
  const float turns = 1 / wave * static_cast<float>(length);
  const float kept = (turns - low) / static_cast<float>(s.high_frequency_factor - s.low_frequency_factor);
  return (1 - kept) * frequency / factor + kept * frequency;
}

}  // namespace

double sinusoidal_frequency(int64_t pair, int64_t dim) {
  return std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}

void sinusoidal(float* out, int64_t length, int64_t dim) {
  if (length < 0 || dim < 1) {
    fail("[sinusoidal] length {} and dim {}: expected length >= 0 and dim >= 1", length, dim);
  }
  for (int64_t i = 0; 2 * i < dim; ++i) {
    const double frequency = sinusoidal_frequency(i, dim);
    for (int64_t p = 0; p < length; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      out[p * dim + 2 * i] = static_cast<float>(std::sin(angle));
      if (2 * i + 1 < dim) out[p * dim + 2 * i + 1] = static_cast<float>(std::cos(angle));
    }
  }
}

void sinusoidal_halves(float* out, int64_t length, int64_t dim) {
  std::vector<float> pairs(static_cast<size_t>(std::max<int64_t>(0, length) * std::max<int64_t>(0, dim)));
  sinusoidal(pairs.data(), length, dim);
  for (int64_t p = 0; p < length; ++p) {
    const float* from = pairs.data() + p * dim;
    for (int64_t c = 0; c < dim; ++c) out[p * dim + c / 2 + (c % 2 ? (dim + 1) / 2 : 0)] = from[c];
  }
}

std::vector<Turn> sinusoidal_shift(int64_t k, int64_t dim) {
  if (dim < 1) fail("[sinusoidal_shift] dim {}: expected at least 1", dim);
  std::vector<Turn> turns;
  for (int64_t i = 0; 2 * i + 1 < dim; ++i) {
    const double angle = static_cast<double>(k) * sinusoidal_frequency(i, dim);
    turns.push_back({std::cos(angle), std::sin(angle)});
  }
  return turns;
}

std::vector<float> rotary_frequencies(const PositionConfig& config, int64_t turned) {
  std::vector<float> frequencies = kernels::rotary_frequencies(turned, config.rotary_base);
  for (float& f : frequencies) {
    if (config.rotary_scale.kind == RotaryScaling::kLinear) f /= static_cast<float>(config.rotary_scale.factor);
    if (config.rotary_scale.kind == RotaryScaling::kLlama3) f = llama3_frequency(f, config.rotary_scale);
  }
  return frequencies;
}

std::vector<float> alibi_slopes(int64_t heads) {
  if (heads < 1 || heads > 65536) fail("[alibi_slopes] {} heads: expected 1 to 65536", heads);
  const auto slope = [](int64_t h, int64_t power) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
  };
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  for (int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
  for (int64_t h = power; h < heads; ++h) slopes.push_back(slope(2 * (h - power), 2 * power));
  return slopes;
}

void check_t5(bool bidirectional, int64_t buckets, int64_t max_distance) {
  const int64_t exact = buckets / (bidirectional ? 4 : 2);
  if (exact >= 1 && max_distance > exact) return;
  fail("[t5_bucket] {} buckets with max_distance {}: expected at least {} buckets and a max_distance above {}", buckets,
       max_distance, bidirectional ? 4 : 2, exact);
}

int64_t t5_bucket(int64_t distance, bool bidirectional, int64_t buckets, int64_t max_distance) {
  check_t5(bidirectional, buckets, max_distance);
  const int64_t per_direction = bidirectional ? buckets / 2 : buckets;
  const int64_t exact = per_direction / 2;
  const int64_t first = bidirectional && distance > 0 ? per_direction : 0;
  const int64_t away = bidirectional ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  if (away < exact) return first + away;
  // In single precision, as the published models were trained: the edges of the buckets depend on it.
  const float ratio = std::log(static_cast<float>(away) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const auto grown = static_cast<int64_t>(ratio * static_cast<float>(per_direction - exact));
  return first + std::min(exact + grown, per_direction - 1);
}

}  // namespace heed::nn
