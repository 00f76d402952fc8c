// How much useful arithmetic a training step takes: two operations for every multiply-add of the products, once
// forward and twice backward. What a kernel computes again to save memory is not counted.
#pragma once

#include "heed/models/config.h"
#include "heed/tensor/spans.h"

namespace heed::models {

double stack_step_flops(const nn::StackConfig& config, const Spans& spans, bool causal);
// What a decoder block of the encoder-decoder adds: looking at `memory`.
double cross_step_flops(const nn::StackConfig& config, const Spans& spans, const Spans& memory);
inline double linear_step_flops(double rows, double in, double out) { return 6 * rows * in * out; }

}  // namespace heed::models
