#include "heed/models/directory.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/bounded_json.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"
#include "heed/models/architecture.h"
#include "heed/models/config_json.h"
#include "heed/models/foreign_json.h"
#include "heed/models/lora.h"
#include "heed/models/weights.h"

namespace heed::models {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMostSettings = size_t{16} << 20;  // bytes of a file of settings

std::string inside(const std::string& folder, const char* name) { return (fs::path(folder) / name).string(); }

ShardedTensors open_weights(const std::string& folder) {
  if (!ShardedTensors::exists(folder) && fs::exists(inside(folder, "pytorch_model.bin"))) {
    fail_file(
        "[model] '{}' has only pytorch_model.bin: expected model.safetensors, which transformers writes by "
        "save_pretrained",
        folder);
  }
  return ShardedTensors::open(folder);
}

// A file of settings; `where` is set to what begins the messages about it.
template <class Read>
void read_settings(const std::string& path, Read read) {
  const MappedFile file(path);
  read(std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()),
       "[model] '" + path + "'");
}

// The name under a key of a file of settings; "" where there is none.
std::string said_in(const std::string& path, const char* key) {
  std::string said;
  if (!fs::is_regular_file(path)) return said;
  read_settings(path, [&](std::string_view text, const std::string&) {
    const json settings = text.size() > kMostSettings ? json() : parse_bounded(text);
    const auto found = settings.is_object() ? settings.find(key) : settings.end();
    if (settings.is_object() && found != settings.end() && found->is_string()) said = found->get<std::string>();
  });
  return said;
}

// Ends of a text are told in two places; each may know some that the other does not.
void read_generation(const std::string& folder, ModelConfig& c) {
  const std::string path = inside(folder, "generation_config.json");
  if (!fs::exists(path)) return;
  read_settings(path, [&](std::string_view text, const std::string& where) {
    const json found = text.size() > kMostSettings ? json() : parse_bounded(text);
    if (!found.is_object()) fail_file("{} is no JSON object", where);
    add_ends(c.tokens, end_ids(Foreign{found, where}), c.vocabulary);
  });
}

ParsedConfig read_decoder(const std::string& folder) {
  ParsedConfig parsed = read_parsed_config(folder);
  if (parsed.config.family != Family::kDecoder || parsed.config.vocabulary == 0) {
    fail_file("[model] '{}' (type {}) is no language model: expected a decoder alone, with a vocabulary", folder,
              parsed.type);
  }
  return parsed;
}

WeightsLayout layout_of(const ModelConfig& c, const Architecture* architecture) {
  WeightsLayout layout = architecture ? architecture->layout(c) : WeightsLayout{heed_names()};
  layout.model_in_out = c.main_stack().weights_in_out;
  return layout;
}

template <class Model>
Model load(const std::string& folder, ParsedConfig parsed, const LoadOptions& options) {
  ModelConfig& config = parsed.config;
  const Architecture* architecture = find_architecture(parsed.type);
  const auto file = std::make_shared<const ShardedTensors>(open_weights(folder));
  bool in_out = options.for_running;
  if (options.as_stored) {
    in_out = stored_in_out(*file, Model(config, std::nullopt).parameters, layout_of(config, architecture));
  }
  config.encoder.weights_in_out = config.decoder.weights_in_out = in_out;
  Model model(config, std::nullopt);
  const WeightsLayout layout = layout_of(config, architecture);
  // The file bounds what is allocated, whatever the config says.
  check_weights(*file, model.parameters, layout);
  if (options.frozen) model.parameters.freeze();
  if (options.as_stored) {
    leave_stored(file, model.parameters, layout, options.frozen ? Leave::kPlain : Leave::kAll, options.in_halves);
  }
  model.parameters.allocate_for_loading();
  read_weights(*file, model.parameters, layout);
  return model;
}

template <class Model>
void check(const std::string& folder, const ParsedConfig& parsed) {
  const Model model(parsed.config, std::nullopt);
  check_weights(open_weights(folder), model.parameters, layout_of(parsed.config, find_architecture(parsed.type)));
}

void save(const std::string& folder, const ModelConfig& c, const nn::Parameters& parameters) {
  const auto is_stored = [](const nn::Parameter& p) { return p.tensor.stored() != nullptr; };
  if (c.main_stack().weights_in_out || std::any_of(parameters.list().begin(), parameters.list().end(), is_stored)) {
    fail("[model] a model loaded for running is not saved: load it for training");
  }
  const Architecture* architecture = architecture_of(c);
  json config = architecture ? architecture->config(c) : heed_json(c);
  if (!architecture) config["model_type"] = "heed";
  TensorsToWrite tensors;
  tensors.add(parameters, layout_of(c, architecture));
  if (architecture && architecture->add_more) architecture->add_more(c, tensors);
  write_file_atomically(inside(folder, "config.json"), config.dump(2) + "\n");
  save_generation(folder, c);
  write_safetensors(inside(folder, "model.safetensors"), tensors.list(), {{"format", "pt"}});
}

}  // namespace

std::string model_type(const ModelConfig& config) {
  const Architecture* architecture = architecture_of(config);
  return architecture ? architecture->type : "heed";
}

ParsedConfig read_parsed_config(const std::string& folder) {
  const std::string path = inside(folder, "config.json");
  if (!fs::is_directory(folder)) fail_file("[model] '{}' is no folder, expected a model directory", folder);
  if (!fs::exists(path) && is_adapter(folder))
    fail_file("[model] '{}' is an adapter: expected the whole model that it belongs to", folder);
  if (!fs::exists(path) && fs::exists(inside(folder, "training")))
    fail_file("[model] '{}' holds a training that has no model yet: heed train with --resume goes on with it", folder);
  if (!fs::exists(path)) fail_file("[model] '{}' has no config.json: it is no model directory", folder);
  ParsedConfig parsed;
  read_settings(path, [&](std::string_view text, const std::string& where) { parsed = parse_config(text, where); });
  const Architecture* architecture = find_architecture(parsed.type);
  if (architecture == nullptr) return parsed;
  if (parsed.config.family == Family::kDecoder) read_generation(folder, parsed.config);
  if (architecture->look && ShardedTensors::exists(folder)) {
    architecture->look(ShardedTensors::open(folder), parsed.config);
  }
  return parsed;
}

bool is_model_directory(const std::string& folder) {
  const std::string type = said_in(inside(folder, "config.json"), "model_type");
  return type == "heed" || find_architecture(type) != nullptr ||
         said_in(inside(folder, "adapter_config.json"), "peft_type") == "LORA";
}

std::string base_of(const ModelFolder& folder) {
  if (!is_adapter(folder.path)) {
    if (!folder.base.empty()) fail("[model] '{}' is no adapter: a base is expected of adapters alone", folder.path);
    return folder.path;
  }
  if (!folder.base.empty()) return folder.base;
  const std::string named = read_adapter_config(folder.path).base;
  if (named.empty())
    fail_file("[model] the adapter '{}' names no base: expected one in its adapter_config.json, or --base",
              folder.path);
  for (const fs::path& path : {fs::path(named), fs::path(folder.path) / named}) {
    if (fs::is_directory(path)) return path.string();
  }
  fail_file(
      "[model] '{}' is an adapter of {}, which is no folder here: expected its base_model_name_or_path, or --base, to "
      "be one",
      folder.path, in_quotes(named));
}

ModelConfig read_config(const ModelFolder& folder) {
  ModelConfig config = read_parsed_config(base_of(folder)).config;
  if (is_adapter(folder.path)) read_generation(folder.path, config);
  return config;
}

void save_generation(const std::string& folder, const ModelConfig& config) {
  const Architecture* architecture = architecture_of(config);
  if (!architecture) return;
  write_file_atomically(inside(folder, "generation_config.json"), architecture->generation(config).dump(2) + "\n");
}

EncoderDecoder load_translator(const std::string& folder, const LoadOptions& options) {
  ParsedConfig parsed = read_parsed_config(folder);
  if (parsed.config.family != Family::kEncoderDecoder || parsed.config.vocabulary == 0) {
    fail_file("[model] '{}' is no translator: expected an encoder and a decoder with a vocabulary", folder);
  }
  return load<EncoderDecoder>(folder, std::move(parsed), {.for_running = options.for_running});
}

Decoder load_decoder(const ModelFolder& folder, const LoadOptions& options) {
  const std::string base = base_of(folder);
  ParsedConfig parsed = read_decoder(base);
  if (is_adapter(folder.path)) read_generation(folder.path, parsed.config);
  if (options.config) parsed.config = *options.config;
  Decoder model = load<Decoder>(base, std::move(parsed), options);
  if (!is_adapter(folder.path)) return model;
  const Lora lora = Lora::load(folder.path, model);
  options.as_stored ? lora.attach(model) : lora.merge_into(model);
  return model;
}

void check_tensors(const std::string& folder, const ParsedConfig& parsed) {
  if (parsed.config.family == Family::kEncoderDecoder) check<EncoderDecoder>(folder, parsed);
  if (parsed.config.family == Family::kDecoder) check<Decoder>(folder, parsed);
}

OpenDecoder open_decoder(const std::string& folder) {
  if (is_adapter(folder)) fail_file("[model] '{}' is an adapter: expected a whole model, as its base is", folder);
  const ParsedConfig parsed = read_decoder(folder);
  const Decoder model(parsed.config, std::nullopt);
  OpenDecoder open{std::make_shared<const ShardedTensors>(open_weights(folder)), {}};
  open.matrices =
      matrices_of_products(*open.file, model.parameters, layout_of(parsed.config, find_architecture(parsed.type)));
  return open;
}

void save_translator(const std::string& folder, const EncoderDecoder& model) {
  save(folder, model.config, model.parameters);
}

void save_decoder(const std::string& folder, const Decoder& model) { save(folder, model.config, model.parameters); }

}  // namespace heed::models
