// Whether a run fits into memory, before it is tried.
#pragma once

#include <cstdint>
#include <string>

#include "heed/train/config.h"

namespace heed::train {

// An error where the weights and what belongs to them are more than the machine has.
void check_memory(const TrainConfig& config);
// Settles "auto" of train.activation_checkpointing by the bytes that are free and the parameters that are trained: it
// changes no bit of the result, only what is kept and the time. Says why where it is on; "" otherwise.
std::string plan_memory(TrainConfig& config, int64_t parameters, int64_t available);

}  // namespace heed::train
