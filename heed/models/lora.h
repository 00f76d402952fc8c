// LoRA: beside a linear map W that stays as it is, B A of low rank that is trained, so that the map is W + scale B A.
// Which maps, by the names of the published model; kept apart in PEFT's files, or merged into W.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/models/decoder.h"
#include "heed/models/lora_config.h"

namespace heed::models {

// A linear map of a model's blocks as published files have it: GPT-2's c_attn is query, key and value in one.
struct PublishedMap {
  std::string module;             // "transformer.h.0.attn.c_attn"
  std::vector<std::string> ours;  // "decoder.layers.0.self_attn.q_proj", ...: their outputs one after the other
  int64_t in = 0, out = 0;
  bool in_out = false;  // how files store it
};
std::vector<PublishedMap> linear_maps(const Decoder& model);

// Which modules are meant: "all" is every map of the blocks, none named those of queries and values, as PEFT's default. A
// name that no map has is an error with the nearest.
std::vector<std::string> lora_modules(const std::vector<std::string>& asked, const Decoder& model);

class Lora {
 public:
  // A and B for the maps that the config's modules mean (lora_modules). Their numbers come by parameters.allocate(), as
  // PEFT starts them: A uniform, B zero.
  Lora(const LoraConfig& config, const Decoder& model);
  // Of an adapter's directory, names and shapes alone: what does not fit the model is an error that lists it.
  static Lora described(const std::string& folder, const Decoder& model);
  // With its numbers.
  static Lora load(const std::string& folder, const Decoder& model);

  // From now on the model computes with it, and its own weights stay as they are.
  void attach(Decoder& model) const;
  // W + scale B A into weights that are in memory.
  void merge_into(const Decoder& model) const;
  // adapter_config.json and adapter_model.safetensors, each atomically.
  void save(const std::string& folder) const;

  LoraConfig config;
  nn::Parameters parameters;  // under PEFT's names

 private:
  Lora() = default;
  void declare(std::vector<PublishedMap> maps);

  std::vector<PublishedMap> maps_;
};

// The files of an adapter, and no weights of a model of its own.
bool is_adapter(const std::string& folder);
LoraConfig read_adapter_config(const std::string& folder);

}  // namespace heed::models
