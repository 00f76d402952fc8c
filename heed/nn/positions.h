// The tables behind the position kinds; the layers read them, and `heed show positions` draws them.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/nn/config.h"

namespace heed::nn {

// PE(p, 2i) = sin(p * w_i), PE(p, 2i+1) = cos(p * w_i), w_i = sinusoidal_frequency(i, dim).
// An odd dim ends with a sine alone. out: (length, dim), computed in double.
void sinusoidal(float* out, int64_t length, int64_t dim);
// The same numbers in Marian's order: all sines, then all cosines.
void sinusoidal_halves(float* out, int64_t length, int64_t dim);
// 10000^(-2 pair / dim), the angle by which a pair of features turns from one position to the next.
double sinusoidal_frequency(int64_t pair, int64_t dim);

// PE(p + k) = M_k PE(p): M_k turns each pair by k * w_i, the same for every p. One entry a whole pair:
// (sin', cos') = (cos_ * sin + sin_ * cos, -sin_ * sin + cos_ * cos).
struct Turn {
  double cos_, sin_;
};
std::vector<Turn> sinusoidal_shift(int64_t k, int64_t dim);

// Of each pair of features that turns, for heed/kernels/rotary.h's rotary_tables; with the config's scaling in them.
std::vector<float> rotary_frequencies(const PositionConfig& config, int64_t turned);

// ALiBi (Press et al. 2021): 2^(-8 (h+1) / heads) for a power of two. Otherwise the slopes of the power
// below, then every second one of the power above, as in the published code.
std::vector<float> alibi_slopes(int64_t heads);

// T5 (Raffel et al. 2020): the bucket of distance = key position - query position. Half of the buckets (of each
// direction) hold one distance each, the rest grow with the logarithm up to max_distance; beyond it all share the last.
// One direction: keys after the query share bucket 0.
int64_t t5_bucket(int64_t distance, bool bidirectional, int64_t buckets, int64_t max_distance);
void check_t5(bool bidirectional, int64_t buckets, int64_t max_distance);  // an error where there are no such buckets

}  // namespace heed::nn
