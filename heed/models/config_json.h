// A model's description as JSON: heed's own complete one, and that of the published architectures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "heed/models/config.h"

namespace heed::models {

nlohmann::json heed_json(const ModelConfig& config);
// Unknown keys, missing ones and wrong types are errors that name the key and `where`.
ModelConfig from_heed_json(const nlohmann::json& json, const std::string& where);
// The same for a config of another model_type; keys that heed does not know are passed over.
ModelConfig from_published(const nlohmann::json& json, const std::string& type, const std::string& where);

// The text of a config.json of any kind; `where` starts the message of an error.
struct ParsedConfig {
  ModelConfig config;
  std::string type;  // "heed", or that of a published architecture
};
ParsedConfig parse_config(std::string_view text, const std::string& where);

}  // namespace heed::models
