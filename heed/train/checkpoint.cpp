#include "heed/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/io/safetensors.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kStarts[] = {"checkpoint-", "stopped-"}, kEnd = ".safetensors";
constexpr const char* kStateKey = "heed.state";
constexpr const char* kIdentityKey = "heed.identity";

// One list for both ways.
template <class State, class Visit>
void state_fields(State& s, Visit visit) {
  visit("step", s.step), visit("epoch", s.epoch), visit("batch", s.batch), visit("tokens", s.tokens);
  visit("skipped", s.skipped), visit("seconds", s.seconds), visit("metrics_bytes", s.metrics_bytes);
  visit("best", s.best), visit("best_step", s.best_step), visit("validations_since_best", s.validations_since_best);
}

std::string moment_name(size_t i) { return fmt::format("moment{}", i + 1); }

std::span<const std::byte> bytes_of(const float* data, int64_t n) {
  return std::as_bytes(std::span(data, static_cast<size_t>(n)));
}

RunState parse_state(const SafeTensors& file, const std::string& path) {
  const auto text = file.metadata().find(kStateKey);
  if (text == file.metadata().end()) fail_file("[checkpoint] '{}' holds no state of a run", path);
  const json parsed = json::parse(text->second, nullptr, false);
  RunState state;
  state_fields(state, [&](const char* key, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    const auto it = parsed.is_object() ? parsed.find(key) : parsed.end();
    const bool good = parsed.is_object() && it != parsed.end() &&
                      (std::is_same_v<Value, double> ? it->is_number() : it->is_number_integer());
    if (!good) fail_file("[checkpoint] '{}': '{}' of its state is missing or no number", path, key);
    value = it->template get<Value>();
  });
  return state;
}

const StoredTensor& array_of(const SafeTensors& file, const std::string& name, int64_t size, const std::string& path) {
  if (!file.contains(name)) fail_file("[checkpoint] '{}' lacks '{}'", path, name);
  const StoredTensor& tensor = file.find(name);
  if (tensor.dtype != StoredType::kF32 || tensor.elements() != size) {
    fail_file("[checkpoint] '{}': '{}' has {} numbers, expected {}: it is of another model", path, name,
              tensor.elements(), size);
  }
  return tensor;
}

}  // namespace

std::string checkpoint_path(const std::string& folder, int64_t step, CheckpointKind kind) {
  return (fs::path(folder) / fmt::format("{}{}{}", kStarts[static_cast<int>(kind)], step, kEnd)).string();
}

std::vector<CheckpointFile> checkpoints_in(const std::string& folder) {
  std::vector<CheckpointFile> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    for (const CheckpointKind kind : {CheckpointKind::kRegular, CheckpointKind::kStopped}) {
      const std::string_view start = kStarts[static_cast<int>(kind)];
      if (!name.starts_with(start) || !name.ends_with(kEnd)) continue;
      const char *first = name.data() + start.size(), *last = name.data() + name.size() - kEnd.size();
      int64_t step = 0;
      const auto [end, failed] = std::from_chars(first, last, step);
      if (failed == std::errc() && end == last) found.push_back({step, kind, entry.path().string()});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

void write_checkpoint(const std::string& path, const RunState& state, const RunArrays& arrays,
                      const std::string& identity) {
  json fields = json::object();
  state_fields(state, [&](const char* key, const auto& value) { fields[key] = value; });
  std::vector<TensorToWrite> tensors{
      {"weights", StoredType::kF32, {arrays.size}, bytes_of(arrays.weights, arrays.size)}};
  for (size_t i = 0; i < arrays.moments.size(); ++i) {
    tensors.push_back({moment_name(i), StoredType::kF32, {arrays.size}, bytes_of(arrays.moments[i], arrays.size)});
  }
  if (arrays.average)
    tensors.push_back({"average", StoredType::kF32, {arrays.size}, bytes_of(arrays.average, arrays.size)});
  write_safetensors(path, tensors, {{kStateKey, fields.dump()}, {kIdentityKey, identity}});
}

RunState read_checkpoint(const std::string& path, const RunArrays& arrays, const std::string& identity) {
  const SafeTensors file = SafeTensors::open(path);
  const auto saved = file.metadata().find(kIdentityKey);
  if (saved == file.metadata().end() || saved->second != identity) {
    fail_file("[checkpoint] '{}' is of another model or other data", path);
  }
  const RunState state = parse_state(file, path);
  std::vector<std::pair<float*, const StoredTensor*>> all{
      {arrays.weights, &array_of(file, "weights", arrays.size, path)}};
  for (size_t i = 0; i < arrays.moments.size(); ++i) {
    all.emplace_back(arrays.moments[i], &array_of(file, moment_name(i), arrays.size, path));
  }
  if (arrays.average) all.emplace_back(arrays.average, &array_of(file, "average", arrays.size, path));
  for (const auto& [to, from] : all) to_f32(*from, to);
  return state;
}

void add_checkpoint_weights(const std::string& path, std::vector<double>& sum) {
  const SafeTensors file = SafeTensors::open(path);
  const char* name = file.contains("average") ? "average" : "weights";
  const StoredTensor& tensor = array_of(file, name, static_cast<int64_t>(sum.size()), path);
  std::vector<float> weights(sum.size());
  to_f32(tensor, weights.data());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{weights[i]};
}

}  // namespace heed::train
