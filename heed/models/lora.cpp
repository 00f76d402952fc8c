#include "heed/models/lora.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"
#include "heed/kernels/elementwise.h"
#include "heed/models/architecture.h"
#include "heed/nn/trace.h"

namespace heed::models {
namespace {

namespace fs = std::filesystem;

constexpr const char *kConfigFile = "adapter_config.json", *kWeightsFile = "adapter_model.safetensors";
constexpr std::string_view kWeight = ".weight";

std::string inside(const std::string& folder, const char* name) { return (fs::path(folder) / name).string(); }

// The names of PEFT's tensors.
std::string name_of_a(const PublishedMap& map) { return "base_model.model." + map.module + ".lora_A.weight"; }
std::string name_of_b(const PublishedMap& map) { return "base_model.model." + map.module + ".lora_B.weight"; }

std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// As PEFT compares them: the whole path, or the end of it after a dot.
bool is_named(const std::string& module, const std::string& name) {
  return module == name || module.ends_with("." + name);
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

// Names that choose maps: the last part, and where that is the name of several, the part before it too.
std::vector<std::string> known_names(const std::vector<PublishedMap>& maps) {
  std::vector<std::string> names;
  for (const PublishedMap& map : maps) add_once(names, last_part(map.module));
  for (const PublishedMap& map : maps) {
    const size_t dot = map.module.rfind('.');
    if (dot != std::string::npos && dot > 0) add_once(names, map.module.substr(map.module.rfind('.', dot - 1) + 1));
  }
  return names;
}

std::vector<PublishedMap> maps_named(const std::vector<std::string>& names, const std::vector<PublishedMap>& all) {
  std::vector<PublishedMap> chosen;
  for (const PublishedMap& map : all) {
    const auto names_it = [&](const std::string& name) { return is_named(map.module, name); };
    if (std::any_of(names.begin(), names.end(), names_it)) chosen.push_back(map);
  }
  return chosen;
}

std::vector<PublishedMap> maps_in(const ShardedTensors& file, const std::vector<PublishedMap>& all) {
  std::vector<PublishedMap> found;
  for (const PublishedMap& map : all) {
    if (file.find(name_of_a(map)) || file.find(name_of_b(map))) found.push_back(map);
  }
  return found;
}

ShardedTensors open_weights(const std::string& folder) {
  if (!fs::exists(inside(folder, kWeightsFile)) && fs::exists(inside(folder, "adapter_model.bin"))) {
    fail_file("[adapter] '{}' has only adapter_model.bin: expected {}, which PEFT writes by save_pretrained", folder,
              kWeightsFile);
  }
  return ShardedTensors::open_file(inside(folder, kWeightsFile));
}

// Where the adapters of a map go, and the column that it begins at among the maps beside it.
struct Slot {
  std::vector<nn::LowRank>* adapters = nullptr;
  int64_t column = 0;
};
std::map<std::string, Slot> slots_of(Decoder& model) {
  std::map<std::string, Slot> slots;
  for (nn::EncoderBlock& block : model.stack.blocks) {
    if (block.with_attention) {
      nn::MultiHeadAttention& attention = block.self_attn;
      int64_t column = 0;
      for (const size_t i : {0, 1, 2}) {
        constexpr const char* kNames[] = {".q_proj", ".k_proj", ".v_proj"};
        slots[attention.path + kNames[i]] = {&attention.in_adapters, column};
        column += attention.in[i].out();
      }
      slots[attention.path + ".out_proj"] = {&attention.out.adapters, 0};
    }
    if (!block.with_feed_forward) continue;
    nn::FeedForward& feed_forward = block.feed_forward;
    slots[block.path + ".feed_forward.gate_proj"] = {&feed_forward.gate_map.adapters, 0};
    slots[block.path + ".feed_forward.up_proj"] = {&feed_forward.up.adapters, 0};
    slots[block.path + ".feed_forward.down_proj"] = {&feed_forward.down.adapters, 0};
  }
  return slots;
}

}  // namespace

std::vector<PublishedMap> linear_maps(const Decoder& model) {
  const Architecture* architecture = architecture_of(model.config);
  const Naming naming = architecture ? architecture->layout(model.config).naming : heed_names();
  std::vector<PublishedMap> maps;
  for (const nn::Parameter& p : model.parameters.list()) {
    if (!p.name.ends_with("_proj.weight")) continue;
    const StoredAs stored = naming(p.name);
    const Shape& shape = p.tensor.shape();
    const bool turned = model.config.decoder.weights_in_out;
    const std::string module = stored.names[0].substr(0, stored.names[0].size() - kWeight.size());
    if (maps.empty() || maps.back().module != module)
      maps.push_back({module, {}, shape[turned ? 0 : 1], 0, stored.in_out});
    maps.back().ours.push_back(p.name.substr(0, p.name.size() - kWeight.size()));
    maps.back().out += shape[turned ? 1 : 0];
  }
  return maps;
}

std::vector<std::string> lora_modules(const std::vector<std::string>& asked, const Decoder& model) {
  const std::vector<PublishedMap> maps = linear_maps(model);
  const std::vector<std::string> known = known_names(maps);
  std::vector<std::string> modules;
  for (const PublishedMap& map : maps) {
    const auto reads = [&](const char* ours) {
      return std::any_of(map.ours.begin(), map.ours.end(), [&](const std::string& o) { return o.ends_with(ours); });
    };
    if (asked.empty() && (reads(".q_proj") || reads(".v_proj"))) add_once(modules, last_part(map.module));
  }
  for (const std::string& name : asked) {
    if (name == "all") {
      for (const PublishedMap& map : maps) add_once(modules, last_part(map.module));
    } else if (!maps_named({name}, maps).empty()) {
      add_once(modules, name);
    } else {
      const std::string near = nearest(name, known);
      fail("[adapter] the model has no linear map {}{} expected some of {}, or all", in_quotes(name),
           near.empty() ? ":" : ", did you mean '" + near + "'?", fmt::join(lora_modules({"all"}, model), ", "));
    }
  }
  return modules;
}

Lora::Lora(const LoraConfig& asked, const Decoder& model) : config(asked) {
  config.modules = lora_modules(asked.modules, model);
  declare(maps_named(config.modules, linear_maps(model)));
}

void Lora::declare(std::vector<PublishedMap> maps) {
  maps_ = std::move(maps);
  config.in_out = !maps_.empty() && maps_[0].in_out;
  for (const PublishedMap& map : maps_) {
    const float bound = 1 / std::sqrt(static_cast<float>(map.in));  // Kaiming's, with a = sqrt(5)
    parameters.declare(name_of_a(map), {config.rank, map.in}, nn::Init::uniform(bound));
    parameters.declare(name_of_b(map), {map.out, config.rank}, nn::Init::zeros());
  }
}

Lora Lora::described(const std::string& folder, const Decoder& model) {
  const ShardedTensors file = open_weights(folder);
  Lora lora;
  lora.config = read_adapter_config(folder);
  lora.declare(maps_in(file, linear_maps(model)));
  check_weights(file, lora.parameters, {heed_names()});
  if (lora.maps_.empty()) fail_file("[adapter] '{}' holds no tensors", file.path());
  lora.config.modules.clear();
  for (const PublishedMap& map : lora.maps_) add_once(lora.config.modules, last_part(map.module));
  return lora;
}

Lora Lora::load(const std::string& folder, const Decoder& model) {
  Lora lora = described(folder, model);
  lora.parameters.allocate_for_loading();
  read_weights(open_weights(folder), lora.parameters, {heed_names()});
  return lora;
}

void Lora::attach(Decoder& model) const {
  const std::map<std::string, Slot> slots = slots_of(model);
  for (const PublishedMap& map : maps_) {
    const Slot& slot = slots.at(map.ours[0]);
    const std::string a = name_of_a(map);
    slot.adapters->push_back({{parameters[a], parameters[name_of_b(map)], config.scale(), slot.column},
                              static_cast<float>(config.dropout),
                              nn::place_of(a)});
  }
}

void Lora::merge_into(const Decoder& model) const {
  for (const PublishedMap& map : maps_) {
    const Tensor& a = parameters[name_of_a(map)];
    const Tensor b = Tensor::empty({map.out, config.rank});
    kernels::scale(b.data(), parameters[name_of_b(map)].data(), config.scale(), b.numel(), false);
    const float* rows = b.data();
    for (const std::string& ours : map.ours) {
      const Tensor& weight = model.parameters[ours + std::string(kWeight)];
      const bool turned = model.config.decoder.weights_in_out;
      const int64_t out = weight.size(turned ? 1 : 0);
      const kernels::Operand of_a{a.data(), map.in, turned}, of_b{rows, config.rank, turned};
      kernels::gemm({.M = weight.size(0),
                     .N = weight.size(1),
                     .K = config.rank,
                     .a = turned ? of_a : of_b,
                     .b = turned ? of_b : of_a,
                     .c = weight.data(),
                     .ldc = weight.ld(),
                     .accumulate = true});
      rows += out * config.rank;
    }
  }
}

void Lora::save(const std::string& folder) const {
  TensorsToWrite tensors;
  tensors.add(parameters, {heed_names()});
  write_file_atomically(inside(folder, kConfigFile), adapter_json(config).dump(2) + "\n");
  write_safetensors(inside(folder, kWeightsFile), tensors.list(), {{"format", "pt"}});
}

bool is_adapter(const std::string& folder) {
  return fs::exists(inside(folder, kConfigFile)) && !ShardedTensors::exists(folder);
}

LoraConfig read_adapter_config(const std::string& folder) {
  const std::string path = inside(folder, kConfigFile);
  const MappedFile file(path);
  return parse_adapter_config({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                              "[adapter] '" + path + "'");
}

}  // namespace heed::models
