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

// A model directory, or that of an adapter (lora.h), which needs the model that it belongs to.
struct ModelFolder {
  std::string path;
  std::string base;  // of an adapter; "": what its config names

  ModelFolder(std::string p, std::string b = "")  // NOLINT(google-explicit-constructor)
      : path(std::move(p)), base(std::move(b)) {}
  ModelFolder(const char* p) : path(p) {}  // NOLINT(google-explicit-constructor)
};
// Where config.json and the weights are: of an adapter the folder of its base, which may be named from here or from the
// adapter's folder; else the path itself.
std::string base_of(const ModelFolder& folder);

// From config.json (its `family` says what kind of model it is), and of a Marian model what that leaves open from the
// weights: its tables of positions and its output bias are looked at, no other weight.
ModelConfig read_config(const ModelFolder& folder);
// The same of a model directory, with the type that config.json names.
ParsedConfig read_parsed_config(const std::string& folder);
// Whether a folder names a type of model that heed knows, or is an adapter's; nothing more is looked at.
bool is_model_directory(const std::string& folder);
// "marian", "gpt2", "llama", "qwen2" or "heed": what a config is written as.
std::string model_type(const ModelConfig& config);

struct LoadOptions {
  // Weights as (in, out): faster products of few rows. Their numbers are the same.
  bool for_running = false;
  // Of a language model: matrices stay in the mapped file, f32, f16, bf16 or quantised, and are multiplied as they are.
  // Nothing is read before it is used, nor looked at for NaN.
  bool as_stored = false;
  // With as_stored, for writing texts and images: sums over matrices that a file has as (in, out) are taken in two halves, for
  // which they are read from end to end. The last bits are not those of training, which score keeps.
  bool in_halves = false;
  // Its weights will not be trained, but what is before them may be: no memory for gradients, and what is quantised is
  // read as numbers, through which gradients pass.
  bool frozen = false;
  // Instead of what config.json says: the same shape with other dropouts or ids.
  const ModelConfig* config = nullptr;
};
// From model.safetensors, or from several files with model.safetensors.index.json. Missing, unexpected and misshapen
// tensors are one error that lists them by name; so is one with NaN or infinity. Quantised ones are read as the numbers
// that they stand for.
EncoderDecoder load_translator(const std::string& folder, const LoadOptions& options = {});
// An adapter is merged into weights that are read, and computed beside those that stay in the file.
Decoder load_decoder(const ModelFolder& folder, const LoadOptions& options = {});

// The same error without loading: of the tensors no more is looked at than names and shapes.
void check_tensors(const std::string& folder, const ParsedConfig& parsed);

// The tensors of a language model, and which of them products read.
struct OpenDecoder {
  std::shared_ptr<const ShardedTensors> file;
  std::vector<MatrixInFile> matrices;
};
OpenDecoder open_decoder(const std::string& folder);

// The directory's own files, each atomically; model.safetensors last.
void save_translator(const std::string& folder, const EncoderDecoder& model);
void save_decoder(const std::string& folder, const Decoder& model);
// Which ids texts begin and end with, for transformers and beside an adapter; nothing for a model that they do not know.
void save_generation(const std::string& folder, const ModelConfig& config);

}  // namespace heed::models
