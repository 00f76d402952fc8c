// Throws bytes at the reader of PNG files: a picture of the size that it says, or one clean line.
#include "heed/io/png.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const heed::GreyImage image = heed::decode_grey_png(std::as_bytes(std::span(data, size)), "input");
    require(image.width >= 1 && image.height >= 1 && image.width <= 4096 && image.height <= 4096);
    require(static_cast<int64_t>(image.pixels.size()) == image.width * image.height);
  } catch (const heed::FileError& error) {
    const std::string message = error.what();
    require(message.starts_with("[png] 'input' ") && message.size() < 4096);
    require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
  }
  return 0;
}
