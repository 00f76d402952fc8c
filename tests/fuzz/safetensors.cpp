// Throws bytes at the safetensors reader: it must take them or refuse them with one clean line, and what it takes must
// survive being written and read again. `make fuzz` runs it.
#include "heed/io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heed/base/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_message(const std::string& message) {
  require(message.starts_with("[safetensors] "));
  require(message.size() < 4096);
  require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
}

// Touches everything that was promised: the address sanitizer sees a span that goes astray.
void check_content(const heed::SafeTensors& file) {
  std::vector<float> values;
  for (const heed::StoredTensor& tensor : file.tensors()) {
    require(&file.find(tensor.name) == &tensor);
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    require(elements == tensor.elements());
    uint8_t sum = 0;
    for (const std::byte byte : tensor.bytes) sum ^= std::to_integer<uint8_t>(byte);
    volatile uint8_t keep = sum;
    static_cast<void>(keep);
    try {
      values.resize(static_cast<size_t>(elements));
      to_f32(tensor, values.data());
    } catch (const heed::FileError& error) {
      check_message(error.what());
    }
  }
}

void check_round_trip(const heed::SafeTensors& file) {
  std::vector<heed::TensorToWrite> tensors;
  for (const heed::StoredTensor& tensor : file.tensors()) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  std::vector<const heed::TensorToWrite*> order;
  order.reserve(tensors.size());
  for (const heed::TensorToWrite& tensor : tensors) order.push_back(&tensor);
  std::string written = heed::safetensors_header(order, file.metadata());
  require(written.size() % 8 == 0);
  for (const heed::TensorToWrite* tensor : order) {
    written.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  }
  const auto again = heed::SafeTensors::parse(std::as_bytes(std::span(written)), "again");
  require(again.metadata() == file.metadata());
  require(again.tensors().size() == file.tensors().size());
  for (const heed::StoredTensor& tensor : file.tensors()) {
    const heed::StoredTensor& copy = again.find(tensor.name);
    require(copy.dtype == tensor.dtype && copy.shape == tensor.shape);
    require(std::equal(copy.bytes.begin(), copy.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto file = heed::SafeTensors::parse(std::as_bytes(std::span(data, size)), "input");
    check_content(file);
    check_round_trip(file);
    static_cast<void>(file.find("no tensor has this name"));
  } catch (const heed::FileError& error) {
    check_message(error.what());
  }
  return 0;
}
