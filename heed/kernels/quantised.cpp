#include "heed/kernels/quantised.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "heed/base/error.h"
#include "heed/base/half.h"
#include "heed/base/threads.h"

namespace heed::kernels {
namespace {

// Where q of one input of one output lies behind the scales of its tile.
struct Place {
  int64_t byte;
  bool upper = false;  // half of it, with 4 bits
};
Place place(NumberType type, int64_t output, int64_t input) {
  const bool four = type == NumberType::kInt4;
  const int64_t i = four ? input % 16 : input;
  return {kTileScaleBytes + (i / 4 * kTileOutputs + output) * 4 + i % 4, four && input >= 16};
}

int get(const uint8_t* tile, NumberType type, int64_t output, int64_t input) {
  const Place at = place(type, output, input);
  const uint8_t byte = tile[at.byte];
  if (type == NumberType::kInt8) return static_cast<int8_t>(byte);
  return (at.upper ? byte >> 4 : byte & 15) - 8;
}

// Into memory that was zero.
void put(uint8_t* tile, NumberType type, int64_t output, int64_t input, int q) {
  const Place at = place(type, output, input);
  if (type == NumberType::kInt8) {
    tile[at.byte] = static_cast<uint8_t>(q);
  } else {
    tile[at.byte] = static_cast<uint8_t>(tile[at.byte] | (q + 8) << (at.upper ? 4 : 0));
  }
}

const uint8_t* tile_at(const Quantised& w, int64_t row, int64_t group) {
  const int64_t tile = row / kTileOutputs * (w.in / kGroup) + group;
  return static_cast<const uint8_t*>(w.tiles) + tile * tile_bytes(w.type);
}
float scale_of(const uint8_t* tile, int64_t row) {
  const uint8_t* at = tile + 2 * (row % kTileOutputs);
  return f16_to_f32(static_cast<uint16_t>(at[0] | at[1] << 8));
}

float nearest(float x, float per_unit, Range range) {
  return std::clamp(std::nearbyint(x * per_unit), range.least, range.most);
}

// Scales near the one that lets the largest weight fill the range; for each choice of q the best scale is known:
// sum x q / sum q q, which takes (sum x q)^2 / sum q q from the squared error. NaN where a number is not finite.
float best_scale(const float* x, Range range) {
  if (!std::all_of(x, x + kGroup, [](float value) { return std::isfinite(value); })) return NAN;
  float largest = 0;
  for (int i = 0; i < kGroup; ++i) largest = std::abs(x[i]) > std::abs(largest) ? x[i] : largest;
  if (std::abs(largest) < kLeastMagnitude) return 0;
  constexpr int kTries = 16;
  float best = 0, least_gain = -1;
  for (int i = -kTries; i <= kTries; ++i) {
    // Negative: the side that reaches further holds the largest.
    const float per_unit = range.least * (1 + 0.2f * static_cast<float>(i) / kTries) / largest;
    float xq = 0, qq = 0;
    for (int k = 0; k < kGroup; ++k) {
      const float q = nearest(x[k], per_unit, range);
      xq += x[k] * q;
      qq += q * q;
    }
    if (qq > 0 && xq * xq > least_gain * qq) {
      least_gain = xq * xq / qq;
      best = xq / qq;
    }
  }
  return best;
}

void quantise_group(uint8_t* tile, NumberType type, int64_t output, const float* x) {
  const Range range = range_of(type);
  const uint16_t bits = f32_to_f16(best_scale(x, range));
  const float scale = f16_to_f32(bits), per_unit = scale == 0 ? 0 : 1 / scale;
  if (!std::isfinite(scale))
    fail("[quantise] a weight is not finite or over {:.0f}, more than a scale can hold", -65504 * range.least);
  std::array<int8_t, kGroup> q;
  for (size_t i = 0; i < kGroup; ++i) q[i] = static_cast<int8_t>(nearest(x[i], per_unit, range));
  store_group(tile, type, output, bits, q.data());
}

}  // namespace

void store_group(uint8_t* tile, NumberType type, int64_t output, uint16_t scale, const int8_t* q) {
  tile[2 * output] = static_cast<uint8_t>(scale);
  tile[2 * output + 1] = static_cast<uint8_t>(scale >> 8);
  for (int64_t i = 0; i < kGroup; ++i) put(tile, type, output, i, q[i]);
}

void quantise(uint8_t* tiles, NumberType type, const float* w, int64_t out, int64_t in) {
  if (!is_quantised(type)) fail("[quantise] to {}: expected int8 or int4", name(type));
  if (in % kGroup != 0) fail("[quantise] {} inputs: expected a multiple of {}", in, kGroup);
  const int64_t groups = in / kGroup, bytes = tile_bytes(type);
  parallel_for(tiles_across(out), 1, [&](int64_t begin, int64_t end) {
    std::fill(tiles + begin * groups * bytes, tiles + end * groups * bytes, uint8_t{0});
    for (int64_t row = begin * kTileOutputs; row < std::min(end * kTileOutputs, out); ++row) {
      uint8_t* tile = tiles + row / kTileOutputs * groups * bytes;
      for (int64_t g = 0; g < groups; ++g, tile += bytes) {
        quantise_group(tile, type, row % kTileOutputs, w + row * in + g * kGroup);
      }
    }
  });
}

float scale_of_group(const Quantised& w, int64_t row, int64_t group) { return scale_of(tile_at(w, row, group), row); }

void dequantise_row(float* to, const Quantised& w, int64_t row) {
  for (int64_t g = 0; g < w.in / kGroup; ++g) {
    const uint8_t* tile = tile_at(w, row, g);
    const float scale = scale_of(tile, row);
    for (int64_t i = 0; i < kGroup; ++i) {
      *to++ = scale * static_cast<float>(get(tile, w.type, row % kTileOutputs, i));
    }
  }
}

float quantise_group_reference(int8_t* q, const float* x) {
  float largest = 0, poison = 0;
  for (int64_t i = 0; i < kGroup; ++i) {
    largest = std::max(largest, std::abs(x[i]));
    poison += 0 * x[i];
  }
  const float per_unit = largest < kLeastMagnitude ? 0 : 127 / largest;
  for (int64_t i = 0; i < kGroup; ++i) {
    q[i] = std::isfinite(x[i] * per_unit) ? static_cast<int8_t>(std::nearbyint(x[i] * per_unit)) : int8_t{0};
  }
  return largest / 127 + poison;
}

}  // namespace heed::kernels
