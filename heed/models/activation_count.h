// How many numbers a training step keeps of its forward for the backward, from the config alone.
#pragma once

#include "heed/models/config.h"

namespace heed::models {

// Of a step over so many tokens; of a translator, on each side.
int64_t kept_activations(const ModelConfig& config, int64_t tokens);

}  // namespace heed::models
