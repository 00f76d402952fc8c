// Throws text at the reader of pixels.json: what it takes is written and read back the same, else it is one clean line.
#include "heed/data/pixel_format.h"

#include <string>

#include "heed/base/error.h"
#include "support/tokenizer_use.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto format = heed::data::PixelFormat::parse({reinterpret_cast<const char*>(data), size}, "input");
    require(heed::data::PixelFormat::parse(format.json(), "again").json() == format.json());
    require(format.vocabulary() > format.levels && format.pixels() > 0);
    require(format.start(format.classes.empty() ? -1 : 0) == format.levels);
  } catch (const heed::FileError& error) {
    check_message(error.what());
  }
  return 0;
}
