// The header of a safetensors file, read and checked against the size of the data that follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/io/safetensors.h"

namespace heed {

constexpr size_t kLengthBytes = 8;               // of the header's length in front of it
constexpr uint64_t kMaxHeaderBytes = 100000000;  // the limit of the format's published implementation
constexpr size_t kMaxDimensions = 64;
constexpr std::string_view kMetadataKey = "__metadata__";

struct SafeTensorsTable {
  std::vector<StoredTensor> tensors;  // in the order of their data, which they cover without holes
  Metadata metadata;
};

// The number of elements; -1 when a size is negative or the sizes other than 0 multiply to more than int64 holds.
int64_t count_elements(std::span<const int64_t> shape);

SafeTensorsTable read_safetensors_header(std::string_view header, std::span<const std::byte> data,
                                         const std::string& label);

}  // namespace heed
