#include "heed/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/fingerprint.h"
#include "heed/kernels/cpu.h"
#include "heed/kernels/gemm.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kStarts[] = {"checkpoint-", "stopped-"}, kEnd = ".safetensors";
constexpr const char* kStateKey = "heed.state";
constexpr const char* kIdentityKey = "heed.identity";
constexpr const char* kFingerprintKey = "heed.fingerprint";
constexpr const char* kWriterKey = "heed.written_by";

// One list for both ways.
template <class State, class Visit>
void state_fields(State& s, Visit visit) {
  visit("step", s.step), visit("epoch", s.epoch), visit("batch", s.batch), visit("tokens", s.tokens);
  visit("skipped", s.skipped), visit("bad_steps", s.bad_steps);
  visit("seconds", s.seconds), visit("metrics_bytes", s.metrics_bytes);
  visit("best", s.best), visit("best_step", s.best_step), visit("validations_since_best", s.validations_since_best);
  visit("validated_step", s.validated_step), visit("best_loss", s.best_loss);
  visit("best_due", s.best_due), visit("lowest_loss", s.lowest_loss);
}

// The arrays by the names of their tensors.
std::vector<std::pair<std::string, float*>> named(const RunArrays& arrays) {
  std::vector<std::pair<std::string, float*>> all{{"weights", arrays.weights}};
  for (float* moment : arrays.moments) all.emplace_back(fmt::format("moment{}", all.size()), moment);
  if (arrays.average) all.emplace_back("average", arrays.average);
  return all;
}

std::span<const std::byte> bytes_of(const float* data, int64_t n) {
  return std::as_bytes(std::span(data, static_cast<size_t>(n)));
}

const std::string& text_of(const SafeTensors& file, const char* key, const std::string& path) {
  const auto text = file.metadata().find(key);
  if (text == file.metadata().end()) fail_file("[checkpoint] '{}' is no checkpoint of a run: it lacks {}", path, key);
  return text->second;
}

RunState parse_state(const SafeTensors& file, const std::string& path) {
  const json parsed = parse_bounded(text_of(file, kStateKey, path));
  RunState state;
  state_fields(state, [&](const char* key, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    const auto it = parsed.is_object() ? parsed.find(key) : parsed.end();
    const bool good = parsed.is_object() && it != parsed.end() &&
                      (std::is_same_v<Value, double> ? it->is_number() : it->is_number_integer());
    if (!good) fail_file("[checkpoint] '{}': '{}' of its state is missing or no number", path, key);
    value = it->template get<Value>();
    if (std::is_same_v<Value, int64_t> && value < -1)
      fail_file("[checkpoint] '{}': '{}' of its state is {}", path, key, value);
  });
  if (state.step < 0 || state.epoch < 0 || state.batch < 0 || state.metrics_bytes < 0 || state.skipped > state.step ||
      state.bad_steps < 0 || state.bad_steps > state.skipped) {
    fail_file("[checkpoint] '{}' is damaged: its state says step {}, epoch {}, batch {}, {} skipped, {} of them on end",
              path, state.step, state.epoch, state.batch, state.skipped, state.bad_steps);
  }
  if (const auto writer = file.metadata().find(kWriterKey); writer != file.metadata().end()) {
    state.written_by = writer->second;
  }
  return state;
}

// Of everything that a checkpoint says, in the order of its writing.
std::string fingerprint_text(const std::string& state, const std::vector<std::span<const std::byte>>& arrays) {
  uint64_t hash = fingerprint(std::as_bytes(std::span(state)));
  for (const auto& bytes : arrays) hash = fingerprint(bytes, hash);
  return fmt::format("{:016x}", hash);
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

// The numbers as they were written: those of its arrays, in the order of their writing.
void check_numbers(const SafeTensors& file, const std::string& path) {
  std::vector<std::span<const std::byte>> contents;
  const auto add = [&](const std::string& name) {
    if (file.contains(name)) contents.push_back(file.find(name).bytes);
    return file.contains(name);
  };
  add("weights");
  for (int i = 1; add(fmt::format("moment{}", i)); ++i) {
  }
  add("average");
  if (text_of(file, kFingerprintKey, path) != fingerprint_text(text_of(file, kStateKey, path), contents)) {
    fail_file("[checkpoint] '{}' is damaged: its numbers do not give its fingerprint", path);
  }
}

}  // namespace

std::string this_writer() {
  return fmt::format("heed {} on a CPU with{} bf16 products", HEED_VERSION, kernels::has_native_bf16() ? "" : "out");
}

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
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.step != b.step ? a.step > b.step : a.kind > b.kind; });
  return found;
}

void write_checkpoint(const std::string& path, const RunState& state, const RunArrays& arrays,
                      const std::string& identity) {
  json fields = json::object();
  state_fields(state, [&](const char* key, const auto& value) { fields[key] = value; });
  std::vector<TensorToWrite> tensors;
  std::vector<std::span<const std::byte>> contents;
  for (const auto& [name, data] : named(arrays)) {
    contents.push_back(bytes_of(data, arrays.size));
    tensors.push_back({name, StoredType::kF32, {arrays.size}, contents.back()});
  }
  const std::string text = fields.dump();
  write_safetensors(path, tensors,
                    {{kStateKey, text},
                     {kIdentityKey, identity},
                     {kWriterKey, this_writer()},
                     {kFingerprintKey, fingerprint_text(text, contents)}});
}

RunState read_checkpoint(const std::string& path, const RunArrays& arrays, const std::string& identity) {
  return take_checkpoint(SafeTensors::open(path), path, arrays, identity);
}

RunState take_checkpoint(const SafeTensors& file, const std::string& label, const RunArrays& arrays,
                         const std::string& identity) {
  const RunState state = parse_state(file, label);
  if (text_of(file, kIdentityKey, label) != identity) fail_file("[checkpoint] '{}' is of other data", label);
  std::vector<std::pair<float*, const StoredTensor*>> all;
  for (const auto& [name, data] : named(arrays)) all.emplace_back(data, &array_of(file, name, arrays.size, label));
  check_numbers(file, label);
  for (const auto& [to, from] : all) to_f32(*from, to);
  return state;
}

void add_checkpoint_weights(const std::string& path, std::vector<double>& sum) {
  const SafeTensors file = SafeTensors::open(path);
  const char* name = file.contains("average") ? "average" : "weights";
  const StoredTensor& tensor = array_of(file, name, static_cast<int64_t>(sum.size()), path);
  check_numbers(file, path);
  std::vector<float> weights(sum.size());
  to_f32(tensor, weights.data());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{weights[i]};
}

}  // namespace heed::train
