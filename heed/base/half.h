// Numbers of 16 bits as files have them. Written with selections instead of branches so that compilers make vectors of
// them; right in every bit whether or not the processor flushes subnormal floats.
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

struct StoredF16 {
  uint16_t bits;
};
struct StoredBf16 {
  uint16_t bits;
};

inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t fraction = bits & 0x3FFu;
  constexpr uint32_t kRebias = 127 - 15;
  const uint32_t normal = ((exponent + kRebias) << 23) | (fraction << 13);
  const uint32_t special = 0x7F800000u | (fraction << 13);
  const auto subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(fraction)) * 0x1p-24f);
  const uint32_t magnitude = exponent == 0 ? subnormal : exponent == 31 ? special : normal;
  return std::bit_cast<float>(sign | magnitude);
}

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// To the nearest, ties to even; what is too large becomes infinity, NaN stays NaN.
inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7FFFFFFFu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  // Adding half of 2^-13 of the least place that stays lets the float unit round what becomes subnormal.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  const uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
  const uint32_t half = magnitude >= 0x477FF000u ? special : magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<uint16_t>(sign | half);
}

inline float to_f32(float x) { return x; }
inline float to_f32(StoredF16 x) { return f16_to_f32(x.bits); }
inline float to_f32(StoredBf16 x) { return bf16_to_f32(x.bits); }

}  // namespace heed
