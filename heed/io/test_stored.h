// For tests: a file of tensors in 16 bits.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "heed/base/half.h"
#include "heed/io/safetensors.h"
#include "heed/io/stored_type.h"
#include "heed/io/test_files.h"

namespace heed {

// Writes the file's numbers as f16, rounded, or as bf16, cut.
inline void store_in_16_bits(const std::string& path, StoredType type) {
  const std::string bytes = content_of(path);
  const SafeTensors file = SafeTensors::parse(std::as_bytes(std::span(bytes)), "copy");
  std::vector<TensorToWrite> tensors;
  std::vector<std::vector<uint16_t>> halves;
  halves.reserve(file.tensors().size());
  for (const StoredTensor& t : file.tensors()) {
    std::vector<float> numbers(static_cast<size_t>(t.elements()));
    to_f32(t, numbers.data());
    std::vector<uint16_t>& half = halves.emplace_back();
    for (const float x : numbers) {
      const bool f16 = type == StoredType::kF16;
      half.push_back(f16 ? f32_to_f16(x) : static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16));
    }
    tensors.push_back({t.name, type, t.shape, std::as_bytes(std::span(half))});
  }
  write_safetensors(path, tensors);
}

}  // namespace heed
