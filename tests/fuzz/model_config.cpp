// Throws bytes at the readers of config.json, heed's own and the published ones, and of PEFT's adapter_config.json: each
// takes them or refuses them with one clean line, and what is taken describes a model that can be counted, or an adapter,
// and can be written down again. `make fuzz` runs it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "heed/base/error.h"
#include "heed/models/architecture.h"
#include "heed/models/config_json.h"
#include "heed/models/lora_config.h"

namespace {

using heed::models::ModelConfig;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_message(const std::string& message) {
  require(message.starts_with("[model] input"));
  require(message.size() < 4096);
  require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
}

void check_config(const ModelConfig& config) {
  config.check();
  const nlohmann::json own = heed::models::heed_json(config);
  require(heed::models::heed_json(heed::models::from_heed_json(own, "[model] again")) == own);
  const heed::models::Architecture* a = heed::models::architecture_of(config);
  if (a == nullptr) return;
  const nlohmann::json written = a->config(config);
  ModelConfig theirs = heed::models::from_published(written, a->type, "[model] again");
  // Of Marian's the bias and the order of the positions are told by the weights, not by the config.
  theirs.output_bias = config.output_bias;
  if (config.family == heed::models::Family::kEncoderDecoder) {
    theirs.encoder.positions = config.encoder.positions, theirs.decoder.positions = config.decoder.positions;
  }
  require(a->config(theirs) == written);
}

void check_adapter(const heed::models::LoraConfig& config) {
  require(config.rank > 0 && config.dropout >= 0 && config.dropout < 1);
  const nlohmann::json written = heed::models::adapter_json(config);
  require(heed::models::adapter_json(heed::models::parse_adapter_config(written.dump(), "[model] again")) == written);
}

template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (const heed::FileError& error) {
    check_message(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_to([&] { check_config(heed::models::parse_config(text, "[model] input").config); });
  try_to([&] { check_adapter(heed::models::parse_adapter_config(text, "[model] input")); });
  return 0;
}
