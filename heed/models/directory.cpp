#include "heed/models/directory.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/models/config_json.h"
#include "heed/models/weights.h"
#include "heed/nn/positions.h"

namespace heed::models {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kOutputBias = "final_logits_bias";
constexpr const char* kPositions[] = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"};

std::string inside(const std::string& folder, const char* name) { return (fs::path(folder) / name).string(); }

bool same_table(const StoredTensor& stored, int64_t dim, void (*fill)(float*, int64_t, int64_t)) {
  if (stored.shape.size() != 2 || stored.shape[1] != dim) return false;
  std::vector<float> theirs(static_cast<size_t>(stored.elements())), ours(theirs.size());
  to_f32(stored, theirs.data());
  fill(ours.data(), stored.shape[0], dim);
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!(std::abs(theirs[i] - ours[i]) < 1e-4f)) return false;
  }
  return true;
}

// Marian always stores a bias, also where none was trained.
bool all_zero(const StoredTensor& stored) {
  return std::all_of(stored.bytes.begin(), stored.bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// A table of positions in the file says what the config does not: heed's order, Marian's, or one that was learned.
void read_positions(const SafeTensors& file, const char* name, nn::StackConfig& stack) {
  if (!file.contains(name)) return;
  const StoredTensor& stored = file.find(name);
  if (same_table(stored, stack.d_model, nn::sinusoidal)) {
    stack.positions.halves = false;
  } else if (!same_table(stored, stack.d_model, nn::sinusoidal_halves)) {
    stack.positions.kind = nn::PositionKind::kLearned;
    stack.positions.halves = false;
  }
}

std::vector<std::string> ignored_names(const ModelConfig& config) {
  std::vector<std::string> ignored;
  if (!config.output_bias) ignored.emplace_back(kOutputBias);
  if (config.encoder.positions.kind == nn::PositionKind::kSinusoidal) ignored.emplace_back(kPositions[0]);
  if (config.decoder.positions.kind == nn::PositionKind::kSinusoidal) ignored.emplace_back(kPositions[1]);
  return ignored;
}

WeightsLayout layout_of(const ParsedConfig& parsed) {
  const ModelConfig& c = parsed.config;
  return {parsed.type == "marian" ? marian_names(c) : heed_names(), ignored_names(c), c.decoder.weights_in_out};
}

SafeTensors open_weights(const std::string& folder) {
  const std::string path = inside(folder, kWeights);
  if (!fs::exists(path) && fs::exists(inside(folder, "pytorch_model.bin"))) {
    fail_file("[model] '{}' has only pytorch_model.bin: expected {}, which transformers writes by save_pretrained",
              folder, kWeights);
  }
  return SafeTensors::open(path);
}

ParsedConfig read_parsed(const std::string& folder) {
  const std::string path = inside(folder, "config.json"), where = "[model] '" + path + "'";
  if (!fs::is_directory(folder)) fail_file("[model] '{}' is no folder, expected a model directory", folder);
  if (!fs::exists(path)) fail_file("[model] '{}' has no config.json: it is no model directory", folder);
  const MappedFile file(path);
  ParsedConfig parsed = parse_config({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, where);
  if (parsed.type != "marian" || !fs::exists(inside(folder, kWeights))) return parsed;
  const SafeTensors weights = SafeTensors::open(inside(folder, kWeights));
  ModelConfig& c = parsed.config;
  read_positions(weights, kPositions[0], c.encoder);
  read_positions(weights, kPositions[1], c.decoder);
  c.output_bias = weights.contains(kOutputBias) && !all_zero(weights.find(kOutputBias));
  return parsed;
}

// What is written: the parameters, and what Marian reads besides.
class Writer {
 public:
  explicit Writer(const EncoderDecoder& model) : model_(model) {}

  void write(const std::string& path, const Naming& naming, bool marian) {
    for (const nn::Parameter& p : model_.parameters.list()) add_parameter(p, naming(p.name));
    if (marian) add_marian();
    write_safetensors(path, tensors_, {{"format", "pt"}});
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, const float* data) {
    size_t n = 1;
    for (const int64_t size : shape) n *= static_cast<size_t>(size);
    tensors_.push_back({name, StoredType::kF32, std::move(shape), std::as_bytes(std::span(data, n))});
  }
  void add_parameter(const nn::Parameter& p, const StoredAs& stored) {
    std::vector<int64_t> shape;
    if (stored.leading_one) shape.push_back(1);
    for (int i = 0; i < p.tensor.shape().rank(); ++i) shape.push_back(p.tensor.size(i));
    add(stored.names[0], std::move(shape), p.tensor.data());
  }
  const float* own(std::vector<float> numbers) { return owned_.emplace_back(std::move(numbers)).data(); }
  void add_table(const char* name, const nn::StackConfig& stack) {
    if (stack.positions.kind != nn::PositionKind::kSinusoidal || stack.positions.halves) return;
    const int64_t length = stack.positions.max_length;
    std::vector<float> table(static_cast<size_t>(length * stack.d_model));
    nn::sinusoidal(table.data(), length, stack.d_model);
    add(name, {length, stack.d_model}, own(std::move(table)));
  }
  void add_marian() {
    const ModelConfig& c = model_.config;
    if (!c.output_bias) add(kOutputBias, {1, c.vocabulary}, own(std::vector<float>(static_cast<size_t>(c.vocabulary))));
    add_table(kPositions[0], c.encoder);
    add_table(kPositions[1], c.decoder);
  }

  const EncoderDecoder& model_;
  std::vector<TensorToWrite> tensors_;
  std::vector<std::vector<float>> owned_;
};

}  // namespace

std::string model_type(const ModelConfig& config) { return fits_marian(config) ? "marian" : "heed"; }

ModelConfig read_config(const std::string& folder) { return read_parsed(folder).config; }

EncoderDecoder load_translator(const std::string& folder, const LoadOptions& options) {
  ParsedConfig parsed = read_parsed(folder);
  ModelConfig& config = parsed.config;
  if (config.family != Family::kEncoderDecoder || config.vocabulary == 0) {
    fail_file("[model] '{}' is no translator: expected an encoder and a decoder with a vocabulary", folder);
  }
  config.encoder.weights_in_out = config.decoder.weights_in_out = options.for_running;
  EncoderDecoder model(config, std::nullopt);
  // The file bounds what is allocated, whatever the config says.
  const SafeTensors file = open_weights(folder);
  const std::string where = "[model] '" + inside(folder, kWeights) + "'";
  check_weights(file, where, model.parameters, layout_of(parsed));
  model.parameters.allocate_for_loading();
  read_weights(file, where, model.parameters, layout_of(parsed));
  return model;
}

void save_translator(const std::string& folder, const EncoderDecoder& model) {
  const ModelConfig& c = model.config;
  if (c.decoder.weights_in_out) fail("[model] a model loaded for running is not saved: load it for training");
  const bool marian = model_type(c) == "marian";
  json config = marian ? marian_json(c) : heed_json(c);
  if (!marian) config["model_type"] = "heed";
  write_file_atomically(inside(folder, "config.json"), config.dump(2) + "\n");
  if (marian) write_file_atomically(inside(folder, "generation_config.json"), marian_generation_json(c).dump(2) + "\n");
  Writer(model).write(inside(folder, kWeights), marian ? marian_names(c) : heed_names(), marian);
}

}  // namespace heed::models
