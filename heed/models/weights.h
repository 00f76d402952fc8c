// A model's parameters as tensors of a file, under the file's names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heed/io/safetensors.h"
#include "heed/models/encoder_decoder.h"

namespace heed::models {

// Where a parameter lies in files: the first of `names` that is there. The name that is written is the first.
struct StoredAs {
  std::vector<std::string> names;
  bool leading_one = false;  // stored (1, n) for (n)
  bool may_be_missing = false;
};
using Naming = std::function<StoredAs(const std::string& ours)>;
Naming heed_names();
Naming marian_names(const ModelConfig& config);

// How a file holds a model: names, what else may be in it, and whether the model holds its linear maps as (in, out)
// where the file has (out, in).
struct WeightsLayout {
  Naming naming;
  std::vector<std::string> ignored;
  bool turn = false;
};
// What is missing, unexpected or misshapen is one error that lists it. Needs no memory for the parameters yet.
void check_weights(const SafeTensors& file, const std::string& where, const nn::Parameters& parameters,
                   const WeightsLayout& layout);
// Checks, then reads every parameter; one that holds NaN or infinity is an error with its name.
void read_weights(const SafeTensors& file, const std::string& where, const nn::Parameters& parameters,
                  const WeightsLayout& layout);

}  // namespace heed::models
