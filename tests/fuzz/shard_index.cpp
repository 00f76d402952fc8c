// Throws bytes at the reader of model.safetensors.index.json: it takes them or refuses them with one clean line, and no
// file that it names lies outside of the folder. `make fuzz` runs it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "heed/base/error.h"
#include "heed/io/sharded_tensors.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto index = heed::parse_shard_index({reinterpret_cast<const char*>(data), size}, "input");
    require(!index.empty());
    for (const auto& [tensor, file] : index) {
      require(file.ends_with(".safetensors") && file.find('/') == std::string::npos && file[0] != '.');
    }
  } catch (const heed::FileError& error) {
    const std::string message = error.what();
    require(message.starts_with("[model] input"));
    require(message.size() < 4096);
    require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
  }
  return 0;
}
