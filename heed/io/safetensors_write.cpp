#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/io/safetensors.h"
#include "heed/io/safetensors_header.h"

namespace heed {
namespace {

constexpr size_t kAlignment = 8;  // where the data begins

std::string json_text(const std::string& text, std::string_view what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail("[safetensors] {} {} is not UTF-8", what, in_quotes(text));
  }
}

void check_tensor(const TensorToWrite& tensor) {
  if (tensor.name == kMetadataKey) fail("[safetensors] a tensor cannot be named {}", in_quotes(kMetadataKey));
  if (tensor.shape.size() > kMaxDimensions) {
    fail("[safetensors] tensor {}: {} dimensions, expected at most {}", in_quotes(tensor.name), tensor.shape.size(),
         kMaxDimensions);
  }
  const int64_t elements = count_elements(tensor.shape);
  const int64_t most = std::numeric_limits<int64_t>::max() / size_of(tensor.dtype);
  if (elements < 0 || elements > most || static_cast<size_t>(elements * size_of(tensor.dtype)) != tensor.data.size()) {
    fail("[safetensors] tensor {}: {} bytes do not make {} of shape ({})", in_quotes(tensor.name), tensor.data.size(),
         name_of(tensor.dtype), fmt::join(tensor.shape, ","));
  }
}

std::string metadata_entry(const Metadata& metadata) {
  std::string result = fmt::format("\"{}\":{{", kMetadataKey);
  for (const auto& [name, value] : metadata) {
    if (result.back() != '{') result += ',';
    result += json_text(name, "metadata name") + ':' + json_text(value, "metadata text");
  }
  return result + '}';
}

}  // namespace

std::string safetensors_header(std::vector<const TensorToWrite*>& tensors, const Metadata& metadata) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorToWrite* a, const TensorToWrite* b) {
    return size_of(a->dtype) > size_of(b->dtype);
  });
  std::string json = "{";
  if (!metadata.empty()) json += metadata_entry(metadata);
  std::set<std::string_view> names;
  size_t begin = 0;
  for (const TensorToWrite* tensor : tensors) {
    check_tensor(*tensor);
    if (!names.insert(tensor->name).second) fail("[safetensors] two tensors are named {}", in_quotes(tensor->name));
    const size_t end = begin + tensor->data.size();
    if (json.size() > 1) json += ',';
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json_text(tensor->name, "tensor name"), name_of(tensor->dtype), fmt::join(tensor->shape, ","),
                        begin, end);
    begin = end;
  }
  json += '}';
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (json.size() > kMaxHeaderBytes) {
    fail("[safetensors] the header would be {} bytes, expected at most {}", json.size(), kMaxHeaderBytes);
  }
  std::string length;
  for (size_t i = 0; i < kLengthBytes; ++i) length += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  return length + json;
}

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors, const Metadata& metadata,
                       const FileCalls& calls) {
  std::vector<const TensorToWrite*> order;
  order.reserve(tensors.size());
  for (const TensorToWrite& tensor : tensors) order.push_back(&tensor);
  const std::string header = safetensors_header(order, metadata);
  AtomicFile file(path, calls);
  file.write(header);
  for (const TensorToWrite* tensor : order) file.write(tensor->data);
  file.commit();
}

}  // namespace heed
