// Tensors in the safetensors format: an 8-byte length, a JSON header, then the data of all tensors without holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"
#include "heed/io/stored_type.h"

namespace heed {

using Metadata = std::map<std::string, std::string>;

// One tensor of an open file. The bytes are the file's own: little-endian, row-major, at any alignment.
struct StoredTensor {
  std::string name;
  StoredType dtype = StoredType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }
};

// An open file. Everything about it is checked before any of it is given out; the data itself is read when touched.
class SafeTensors {
 public:
  static SafeTensors open(const std::string& path);
  // From memory that must outlive the object; `label` stands for the file's name in messages.
  static SafeTensors parse(std::span<const std::byte> file, std::string label);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // in the order of their data
  std::vector<std::string> names() const;                                // the same order
  const Metadata& metadata() const { return metadata_; }

  bool contains(std::string_view name) const { return look_up(name) != nullptr; }
  // Throws with the nearest name when there is none of this name.
  const StoredTensor& find(std::string_view name) const;

 private:
  const StoredTensor* look_up(std::string_view name) const;

  std::string label_;
  MappedFile file_;
  std::vector<StoredTensor> tensors_;
  std::vector<size_t> by_name_;  // indices into tensors_, sorted by name
  Metadata metadata_;
};

// Every element as float into out[elements()]; for F32, F16, BF16 and F64.
void to_f32(const StoredTensor& tensor, float* out);

struct TensorToWrite {
  std::string name;
  StoredType dtype = StoredType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

// Atomic (atomic_file.h). The data is laid out widest type first, otherwise in the order given, so that all of it is
// aligned to its type.
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const Metadata& metadata = {}, const FileCalls& calls = {});

// What stands before the data: length and header. Puts the tensors in the order in which their data must follow.
std::string safetensors_header(std::vector<const TensorToWrite*>& tensors, const Metadata& metadata);

}  // namespace heed
