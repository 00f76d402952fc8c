// A model directory in 8 or 4 bits: the matrices of products in tiles (kernels/quantised.h), all else as it was. Other
// libraries refuse it by its "quantization_config".
#pragma once

#include <string>
#include <vector>

#include "heed/kernels/numbers.h"

namespace heed::models {

struct QuantisedMatrix {
  std::string name;
  kernels::NumberType type;
  int64_t numbers, bytes;
  double squared_error, squared_size;
};
struct Quantisation {
  std::vector<QuantisedMatrix> matrices;
  std::vector<std::string> kept;              // matrices whose sizes do not allow it
  int64_t bytes_before = 0, bytes_after = 0;  // of all tensors
};

// Writes config.json and model.safetensors of the language model in `from` into the folder `to`. bits: 8 or 4; with 4 the
// tables of tokens, which every word passes twice, have 8.
Quantisation quantise_directory(const std::string& from, const std::string& to, int64_t bits);

}  // namespace heed::models
