#include "heed/models/lora_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"
#include "heed/models/foreign_json.h"

namespace heed::models {
namespace {

using nlohmann::json;

// Variants of LoRA that compute something else, or start from another base than the one that is named.
constexpr const char* kNotComputed[] = {"rank_pattern",      "alpha_pattern",     "modules_to_save",
                                        "layer_replication", "target_parameters", "trainable_token_indices",
                                        "use_bdlora",        "arrow_config",      "kasa_config",
                                        "monteclora_config", "velora_config",     "alora_invocation_tokens",
                                        "megatron_config"};

void demand_text(const Foreign& f, const char* key, const char* expected) {
  if (f.has(key) && f.text(key) != expected) {
    fail_file("{}: '{}' is {}: not supported, expected {}", f.where, key, in_quotes(f.text(key)), expected);
  }
}

// Some beginnings change the weights of the base, which its directory does not show.
void check_beginning(const Foreign& f) {
  constexpr const char* kKey = "init_lora_weights";
  if (!f.has(kKey) || f.from[kKey].is_boolean()) return;
  const std::string kind = f.text(kKey);
  for (const char* known : {"gaussian", "eva", "orthogonal"}) {
    if (kind == known) return;
  }
  fail_file("{}: '{}' is {}: not supported, it changes the base", f.where, kKey, in_quotes(kind));
}

// A pattern instead of names says nothing that the names of the tensors do not.
std::vector<std::string> modules_of(const Foreign& f) {
  constexpr const char* kKey = "target_modules";
  std::vector<std::string> modules;
  if (!f.has(kKey) || f.from[kKey].is_string()) return modules;
  if (!f.from[kKey].is_array()) fail_file("{}: '{}' is {}, expected names", f.where, kKey, shown(f.from[kKey]));
  for (const json& name : f.from[kKey]) {
    if (!name.is_string()) fail_file("{}: '{}' holds {}, expected names", f.where, kKey, shown(name));
    modules.push_back(name.get<std::string>());
  }
  return modules;
}

}  // namespace

float LoraConfig::scale() const {
  const auto r = static_cast<double>(rank);
  return static_cast<float>(alpha / (root_scaled ? std::sqrt(r) : r));
}

LoraConfig parse_adapter_config(std::string_view text, const std::string& where) {
  constexpr size_t kMost = size_t{16} << 20;
  if (text.size() > kMost) fail_file("{} has {} bytes: it is no config", where, text.size());
  const json found = parse_bounded(text);
  if (!found.is_object()) fail_file("{} is no JSON object", where);
  const Foreign f{found, where};
  if (f.text("peft_type") != "LORA") {
    fail_file("{}: 'peft_type' is {}: not supported, expected LORA", where, in_quotes(f.text("peft_type")));
  }
  demand_text(f, "task_type", "CAUSAL_LM");
  demand_text(f, "bias", "none");
  for (const char* key : {"use_dora", "use_qalora", "lora_bias"}) f.demand(key, false, false);
  for (const char* key : kNotComputed) f.demand_none(key);
  check_beginning(f);
  LoraConfig c;
  c.rank = f.whole("r");
  if (c.rank < 1 || c.rank > kMostLoraRank) {
    fail_file("{}: 'r' is {}, expected a rank of 1 to {}", where, c.rank, kMostLoraRank);
  }
  c.alpha = f.number("lora_alpha");
  if (!(std::abs(c.alpha) <= 1e9)) fail_file("{}: 'lora_alpha' is {}, expected a number", where, c.alpha);
  c.dropout = f.number("lora_dropout", 0);
  if (!(c.dropout >= 0 && c.dropout < 1)) fail_file("{}: 'lora_dropout' is {}, expected 0 to 1", where, c.dropout);
  c.root_scaled = f.flag("use_rslora", false);
  c.in_out = f.flag("fan_in_fan_out", false);
  c.modules = modules_of(f);
  if (f.has("base_model_name_or_path")) c.base = f.text("base_model_name_or_path");
  return c;
}

json adapter_json(const LoraConfig& c) {
  const bool whole = c.alpha == std::floor(c.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", c.base.empty() ? json(nullptr) : json(c.base)},
          {"r", c.rank},
          {"lora_alpha", whole ? json(static_cast<int64_t>(c.alpha)) : json(c.alpha)},
          {"lora_dropout", c.dropout},
          {"target_modules", c.modules},
          {"use_rslora", c.root_scaled},
          {"fan_in_fan_out", c.in_out},
          {"bias", "none"},
          {"modules_to_save", nullptr},
          {"init_lora_weights", true},
          {"inference_mode", true}};
}

}  // namespace heed::models
