// A model directory: config.json and model.safetensors as the Hugging Face libraries read and write them. A model whose
// mathematics is that of a published architecture is written as one; what theirs would compute differently has the model
// type "heed", so that they refuse it instead of being silently wrong.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heed/models/config_json.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/models/weights.h"

namespace heed::models {

// From config.json (its `family` says what kind of model it is), and of a Marian model what that leaves open from the
// weights: its tables of positions and its output bias are looked at, no other weight.
ModelConfig read_config(const std::string& folder);
// The same, with the type that config.json names.
ParsedConfig read_parsed_config(const std::string& folder);
// Whether a folder has a config.json that names a type which heed knows; nothing more is looked at.
bool is_model_directory(const std::string& folder);
// "marian", "gpt2", "llama", "qwen2" or "heed": what a config is written as.
std::string model_type(const ModelConfig& config);

struct LoadOptions {
  // Weights as (in, out): faster products of few rows. Their numbers are the same.
  bool for_running = false;
  // Of a language model: matrices stay in the mapped file, f32, f16, bf16 or quantised, and are multiplied as they are.
  // Nothing is read before it is used, nor looked at for NaN.
  bool as_stored = false;
};
// From model.safetensors, or from several files with model.safetensors.index.json. Missing, unexpected and misshapen
// tensors are one error that lists them by name; so is one with NaN or infinity. Quantised ones are read as the numbers
// that they stand for.
EncoderDecoder load_translator(const std::string& folder, const LoadOptions& options = {});
Decoder load_decoder(const std::string& folder, const LoadOptions& options = {});

// The tensors of a language model, and which of them products read.
struct OpenDecoder {
  std::shared_ptr<const ShardedTensors> file;
  std::vector<MatrixInFile> matrices;
};
OpenDecoder open_decoder(const std::string& folder);

// The directory's own files, each atomically; model.safetensors last.
void save_translator(const std::string& folder, const EncoderDecoder& model);
void save_decoder(const std::string& folder, const Decoder& model);

}  // namespace heed::models
