// Published architectures. Each is one file (marian.cpp, gpt2.cpp, llama.cpp): config.json both ways, and the names of
// its tensors beside heed's. A new one is such a file and a line in architectures().
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "heed/models/config.h"
#include "heed/models/weights.h"

namespace heed::models {

struct Foreign;

struct Architecture {
  const char* type;                                  // model_type in config.json
  bool (*fits)(const ModelConfig&);                  // true where theirs computes the same as a model of this config
  nlohmann::json (*config)(const ModelConfig&);      // config.json; only of what fits
  nlohmann::json (*generation)(const ModelConfig&);  // generation_config.json
  // What heed does not compute is refused by its key.
  ModelConfig (*read)(const Foreign&);
  // What the config leaves open and the weights tell; may be null.
  void (*look)(const ShardedTensors&, ModelConfig&);
  WeightsLayout (*layout)(const ModelConfig&);
  // Tensors besides the parameters that theirs reads; may be null.
  void (*add_more)(const ModelConfig&, TensorsToWrite&);
};

extern const Architecture kMarian, kGpt2, kLlama, kQwen2, kMistral;

// In the order in which a model is written as the first that fits.
std::span<const Architecture* const> architectures();
const Architecture* find_architecture(const std::string& type);  // null: heed has none of this name
// The one that a model of this config is written as; null: heed's own format.
const Architecture* architecture_of(const ModelConfig& config);

}  // namespace heed::models
