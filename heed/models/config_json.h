// A model's description as JSON: heed's own complete one, and Marian's for the translators it can describe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "heed/models/config.h"

namespace heed::models {

nlohmann::json heed_json(const ModelConfig& config);
// Unknown keys, missing ones and wrong types are errors that name the key and `where`.
ModelConfig from_heed_json(const nlohmann::json& json, const std::string& where);

// The text of a config.json of either kind; `where` starts the message of an error.
struct ParsedConfig {
  ModelConfig config;
  std::string type;  // "marian" or "heed"
};
ParsedConfig parse_config(std::string_view text, const std::string& where);

// True where transformers' MarianMTModel computes the same as a model of this config.
bool fits_marian(const ModelConfig& config);
nlohmann::json marian_json(const ModelConfig& config);
nlohmann::json marian_generation_json(const ModelConfig& config);
// The positions are those that Marian computes itself; a table in the weights may say otherwise.
ModelConfig from_marian_json(const nlohmann::json& json, const std::string& where);

}  // namespace heed::models
