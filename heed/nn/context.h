// What a forward pass needs to know besides its input.
#pragma once

#include <cstdint>

#include "heed/kernels/dropout.h"

namespace heed::nn {

class Trace;

struct Context {
  bool training = false;  // dropout happens
  uint64_t seed = 0, step = 0;
  Trace* trace = nullptr;  // whoever wants to look inside
  // Blocks keep their input alone for the backward, which needs the model where it is. Not while someone looks inside.
  bool recompute = false;

  // Dropout at one place of the model, which its number tells apart from all others.
  kernels::Dropout dropout(float p, uint64_t place) const {
    if (!training || p == 0) return {};
    return {p, kernels::dropout_key(seed, step, place)};
  }
};

}  // namespace heed::nn
