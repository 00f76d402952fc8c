// An adapter's description, as PEFT writes it: adapter_config.json both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heed::models {

struct LoraConfig {
  int64_t rank = 8;
  double alpha = 16;                      // what A and B give is multiplied by alpha / rank
  bool root_scaled = false;               // by alpha / sqrt(rank) instead: PEFT's use_rslora
  double dropout = 0;                     // on what A reads, in training
  std::vector<std::string> modules = {};  // published names, or the ends of dotted ones
  bool in_out = false;                    // the model stores these maps as (in, out): PEFT's fan_in_fan_out
  std::string base = {};                  // the model that it belongs to; "": not said

  float scale() const;
};

constexpr int64_t kMostLoraRank = 1 << 14;

// What heed does not compute is refused by its key; `where` starts the message.
LoraConfig parse_adapter_config(std::string_view text, const std::string& where);
nlohmann::json adapter_json(const LoraConfig& config);

}  // namespace heed::models
