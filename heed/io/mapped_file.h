// A file in memory, read-only: pages come from disk when they are touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heed {

// The size is that of the moment of opening. Whoever cuts the file short while it is mapped breaks the program that
// reads it; heed itself only ever replaces files whole (atomic_file.h), which leaves a mapping as it was.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace heed
