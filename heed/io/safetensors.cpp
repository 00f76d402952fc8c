#include "heed/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/io/safetensors_header.h"

namespace heed {
namespace {

uint64_t read_little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// memcpy: the format does not promise alignment.
template <class Stored, class Convert>
void convert(const StoredTensor& tensor, float* out, Convert to_float) {
  const std::byte* from = tensor.bytes.data();
  const int64_t elements = tensor.elements();
  for (int64_t i = 0; i < elements; ++i) {
    Stored value;
    std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = to_float(value);
  }
}

}  // namespace

SafeTensors SafeTensors::open(const std::string& path) {
  MappedFile file(path);
  SafeTensors result = parse(file.bytes(), printable(path));
  result.file_ = std::move(file);
  return result;
}

SafeTensors SafeTensors::parse(std::span<const std::byte> file, std::string label) {
  if (file.size() < kLengthBytes) {
    fail_file("[safetensors] {}: the file is {} bytes, expected at least {}", label, file.size(), kLengthBytes);
  }
  const uint64_t length = read_little_endian(file.first(kLengthBytes));
  if (length > kMaxHeaderBytes) {
    fail_file("[safetensors] {}: header says it is {} bytes, expected at most {}", label, length, kMaxHeaderBytes);
  }
  const std::span<const std::byte> rest = file.subspan(kLengthBytes);
  if (length > rest.size()) {
    fail_file("[safetensors] {}: header says it is {} bytes, the file has only {} more", label, length, rest.size());
  }
  const std::string_view header(reinterpret_cast<const char*>(rest.data()), length);
  SafeTensorsTable table = read_safetensors_header(header, rest.subspan(length), label);

  SafeTensors result;
  result.label_ = std::move(label);
  result.tensors_ = std::move(table.tensors);
  result.metadata_ = std::move(table.metadata);
  const std::vector<StoredTensor>& tensors = result.tensors_;
  result.by_name_.resize(tensors.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), size_t{0});
  std::sort(result.by_name_.begin(), result.by_name_.end(),
            [&](size_t a, size_t b) { return tensors[a].name < tensors[b].name; });
  const auto twice = std::adjacent_find(result.by_name_.begin(), result.by_name_.end(),
                                        [&](size_t a, size_t b) { return tensors[a].name == tensors[b].name; });
  if (twice != result.by_name_.end()) {
    fail_file("[safetensors] {}: tensor {} appears twice", result.label_, in_quotes(tensors[*twice].name));
  }
  return result;
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> result;
  result.reserve(tensors_.size());
  for (const StoredTensor& tensor : tensors_) result.push_back(tensor.name);
  return result;
}

const StoredTensor* SafeTensors::look_up(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](size_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

const StoredTensor& SafeTensors::find(std::string_view name) const {
  if (const StoredTensor* tensor = look_up(name)) return *tensor;
  // Bounded, so that a file of a million absurd names cannot make its own error slow.
  constexpr size_t kLongestCompared = 200;
  constexpr size_t kMostCompared = 10000;
  std::vector<std::string> candidates;
  for (const StoredTensor& tensor : tensors_) {
    if (tensor.name.size() <= kLongestCompared) candidates.push_back(tensor.name);
    if (candidates.size() == kMostCompared) break;
  }
  const std::string near = nearest(name, candidates);
  fail_file("[safetensors] {}: no tensor {} among {}{}", label_, in_quotes(name), tensors_.size(),
            near.empty() ? "" : ", nearest is " + in_quotes(near));
}

void to_f32(const StoredTensor& tensor, float* out) {
  switch (tensor.dtype) {
    case StoredType::kF32:
      if (!tensor.bytes.empty()) std::memcpy(out, tensor.bytes.data(), tensor.bytes.size());
      return;
    case StoredType::kF16:
      return convert<uint16_t>(tensor, out, f16_to_f32);
    case StoredType::kBF16:
      return convert<uint16_t>(tensor, out, bf16_to_f32);
    case StoredType::kF64:
      return convert<double>(tensor, out, [](double x) { return static_cast<float>(x); });
    default:
      fail_file("[safetensors] tensor {}: dtype {}, expected F32, F16, BF16 or F64", in_quotes(tensor.name),
                name_of(tensor.dtype));
  }
}

}  // namespace heed
