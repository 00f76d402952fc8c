// Throws bytes at the readers of IDX files: they give as many images or labels as the file says, or refuse it with one line.
#include "heed/data/idx.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "heed/base/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// In pieces, as a file comes.
heed::data::ReadBytes reader(std::span<const uint8_t> bytes) {
  return [bytes](std::span<char> out) mutable {
    constexpr size_t kPiece = 7;
    const size_t size = std::min({out.size(), bytes.size(), kPiece});
    std::copy_n(bytes.begin(), size, out.begin());
    bytes = bytes.subspan(size);
    return size;
  };
}

void read_images(std::span<const uint8_t> bytes) {
  heed::data::IdxImages images(reader(bytes), "input");
  int64_t count = 0;
  for (std::vector<uint8_t> pixels; images.next(pixels); ++count) {
    require(static_cast<int64_t>(pixels.size()) == images.width() * images.height());
  }
  require(count == images.count());
  require(static_cast<int64_t>(bytes.size()) == 16 + count * images.width() * images.height());
}

void read_labels(std::span<const uint8_t> bytes) {
  require(heed::data::read_idx_labels(reader(bytes), "input").size() + 8 == bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto& read : {read_images, read_labels}) {
    try {
      read({data, size});
    } catch (const heed::FileError& error) {
      const std::string message = error.what();
      require(message.starts_with("[images] 'input' ") && message.size() < 4096);
      require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
    }
  }
  return 0;
}
