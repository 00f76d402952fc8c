// Weights of 8 or 4 bits: groups of 32 along `in` share a scale, w = scale * q, and there is no offset. They lie in tiles of
// 16 outputs by one group, in the order in which a product reads them: along `in`, then along `out`.
//
//   tile, 8 bits (544 bytes): 16 scales (f16), then for i = 0, 4, ..., 28 the q of inputs i .. i + 3 of each output in turn
//   tile, 4 bits (288 bytes): 16 scales (f16), then for i = 0, 4, 8, 12 of each output in turn four bytes, whose lower
//                             halves hold q + 8 of inputs i .. i + 3 and whose upper halves those of i + 16 .. i + 19
//
// A last tile that the outputs do not fill ends with scales of 0. |q| <= 127, or -8 <= q <= 7.
//
// The product (gemm with b.type kInt8 or kInt4, b as if stored (out, in)) quantises each row x in the same groups to 8 bits,
// scale = max |x| / 127; every output is one chain of fused multiply-adds over the groups, sum of q_x q_w (a whole number)
// times (scale_x * scale_w): no bit depends on the neighbours, the threads or the CPU.
#pragma once

#include <cstdint>

#include "heed/kernels/numbers.h"

namespace heed::kernels {

constexpr int64_t kGroup = 32, kTileOutputs = 16;
constexpr int64_t kTileScaleBytes = 2 * kTileOutputs;
constexpr int64_t tile_bytes(NumberType type) {
  return kTileScaleBytes + kTileOutputs * kGroup / (type == NumberType::kInt4 ? 2 : 1);
}
constexpr int64_t tiles_across(int64_t out) { return (out + kTileOutputs - 1) / kTileOutputs; }
// Of an (out, in) matrix; `in` is a multiple of kGroup.
constexpr int64_t quantised_bytes(NumberType type, int64_t out, int64_t in) {
  return tiles_across(out) * (in / kGroup) * tile_bytes(type);
}

struct Quantised {
  const void* tiles;
  int64_t in;
  NumberType type;
};

// Of q.
struct Range {
  float least, most;
};
constexpr Range range_of(NumberType type) { return type == NumberType::kInt8 ? Range{-127, 127} : Range{-8, 7}; }

// w: (out, in) by rows. The scale of a group is searched for: the one with the least squared error.
void quantise(uint8_t* tiles, NumberType type, const float* w, int64_t out, int64_t in);
// One group of one output of a tile, into memory that was zero: its scale as f16, and kGroup numbers within the range.
void store_group(uint8_t* tile, NumberType type, int64_t output, uint16_t scale, const int8_t* q);
// Row `row` of the (out, in) matrix.
void dequantise_row(float* to, const Quantised& w, int64_t row);

float scale_of_group(const Quantised& w, int64_t row, int64_t group);

// What the product makes of 32 numbers: their q, and the scale. All q are 0 where the numbers are too small to divide by;
// the scale is NaN where one is not finite.
constexpr float kLeastMagnitude = 1e-30f;
float quantise_group_reference(int8_t* q, const float* x);

}  // namespace heed::kernels
