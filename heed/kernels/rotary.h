// Rotary positions (RoPE, Su et al. 2021): each pair of features of a head turns by position * frequency.
// x: (T, heads * D) with row stride ld; pairs are (i, i + D/2) as in LLaMA's published code, or (2i, 2i+1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed::kernels {

struct Rotary {
  int64_t T, heads, D;  // D even; only the first `turned` features of a head turn
  int64_t turned;
  const float *cos, *sin;           // (P, turned / 2)
  const uint32_t* position_of_row;  // (T), each < P
  bool interleaved = false;
  bool inverse = false;  // turn back: the backward
};
// y (+)= rotate(x). May work in place when not accumulating.
void rotary(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r, bool accumulate);
void rotary_reference(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r, bool accumulate);
// base^(-2i / turned): the angle by which pair i turns from one position to the next. Angles are f32, rounded as transformers
// rounds them: thousands of positions on, a frequency's last bit is what a model has learned from, and exact angles are others.
std::vector<float> rotary_frequencies(int64_t turned, double base);
// cos and sin of the angles p * frequency for p < P, (P, frequencies.size()).
void rotary_tables(float* cos, float* sin, int64_t P, std::span<const float> frequencies);

}  // namespace heed::kernels
