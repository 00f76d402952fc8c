#include "heed/io/sharded_tensors.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kMostShards = 4096;  // each is mapped, and kept open

std::string inside(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

// Nothing that leads out of the folder, or to what is no file of tensors.
bool is_plain_name(const std::string& name) {
  return name.size() < 256 && name.ends_with(".safetensors") && name.find_first_of("/\\") == std::string::npos &&
         name.find('\0') == std::string::npos && !name.starts_with('.');
}

// What an index says about a shard, and what the shard holds, are the same list.
void check_shard(const ShardIndex& index, const std::string& name, const SafeTensors& shard, const std::string& label) {
  for (const StoredTensor& tensor : shard.tensors()) {
    const auto listed = index.find(tensor.name);
    if (listed == index.end()) {
      fail_file("[model] {}: {} of {} is not in the index", label, in_quotes(tensor.name), in_quotes(name));
    }
    if (listed->second != name) {
      fail_file("[model] {}: {} is said to be in {}, but {} holds it", label, in_quotes(tensor.name),
                in_quotes(listed->second), in_quotes(name));
    }
  }
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& label) {
  if (text.size() > kMostBytes) fail_file("[model] {}: {} bytes, expected at most {}", label, text.size(), kMostBytes);
  const nlohmann::json json = parse_bounded(text);
  if (!json.is_object()) fail_file("[model] {} is no JSON object", label);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) fail_file("[model] {}: 'weight_map' is no object of names", label);
  ShardIndex index;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) fail_file("[model] {}: the file of {} is no name", label, in_quotes(tensor));
    const auto name = file.get<std::string>();
    if (!is_plain_name(name)) {
      fail_file("[model] {}: {} is in {}, expected the name of a .safetensors file beside the index", label,
                in_quotes(tensor), in_quotes(name));
    }
    index.emplace(tensor, name);
  }
  if (index.empty()) fail_file("[model] {} lists no tensors", label);
  return index;
}

const StoredTensor* ShardedTensors::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool ShardedTensors::exists(const std::string& folder) {
  return fs::exists(inside(folder, kWhole)) || fs::exists(inside(folder, kIndex));
}

ShardedTensors ShardedTensors::open_file(const std::string& path) {
  ShardedTensors all;
  all.path_ = path;
  all.files_.push_back(std::make_unique<const SafeTensors>(SafeTensors::open(path)));
  for (const StoredTensor& t : all.files_[0]->tensors()) all.by_name_.emplace(t.name, &t);
  return all;
}

ShardedTensors ShardedTensors::open(const std::string& folder) {
  const std::string whole = inside(folder, kWhole);
  if (fs::exists(whole) || !fs::exists(inside(folder, kIndex))) return open_file(whole);
  ShardedTensors all;
  all.path_ = inside(folder, kIndex);
  const std::string label = "'" + printable(all.path_) + "'";
  const MappedFile text(all.path_);
  const ShardIndex index =
      parse_shard_index({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}, label);
  std::map<std::string, const SafeTensors*> shards;
  for (const auto& [tensor, name] : index) {
    if (shards.contains(name)) continue;
    if (shards.size() == kMostShards) fail_file("[model] {}: more than {} files", label, kMostShards);
    if (!fs::exists(inside(folder, name))) {
      fail_file("[model] {}: {} is in {}, which is not there", label, in_quotes(tensor), in_quotes(name));
    }
    all.files_.push_back(std::make_unique<const SafeTensors>(SafeTensors::open(inside(folder, name))));
    shards[name] = all.files_.back().get();
    check_shard(index, name, *all.files_.back(), label);
  }
  for (const auto& [tensor, name] : index) {
    if (!shards[name]->contains(tensor)) {
      fail_file("[model] {}: {} lacks {}", label, in_quotes(name), in_quotes(tensor));
    }
    all.by_name_.emplace(tensor, &shards[name]->find(tensor));
  }
  return all;
}

}  // namespace heed
