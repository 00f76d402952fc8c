// The bytes of one file, unpacked where it is gzip. What a pipe has is given at once: nothing waits for a full block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace heed::data {

class ByteSource {
 public:
  // "-" is standard input. Whether it is gzip is told by the content; a name that ends in .gz must keep its promise.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;

  // At least one byte, or 0 at the end. A packed file that is cut short or damaged is an error that names it.
  size_t read(std::span<char> out);
  bool ready() const;        // read() need not wait, or not for long: something has come, or the end
  int64_t consumed() const;  // bytes of the file itself

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The size of a file, 0 of a pipe; a file that cannot be read is an error.
int64_t check_readable(const std::string& path);

}  // namespace heed::data
