// Throws text at the reader of configs: it takes it, and what it took reads back the same; or refuses it with one line.
#include "heed/train/config.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "heed/base/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heed::train::TrainConfig config;
  try {
    heed::train::read_config_text(config, std::string(reinterpret_cast<const char*>(data), size), "input");
  } catch (const heed::Error& error) {
    const std::string message = error.what();
    require(message.starts_with("[config] input:") && message.size() < 4096);
    require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
    return 0;
  }
  const std::string text = heed::train::config_text(config);
  heed::train::TrainConfig again;
  heed::train::read_config_text(again, text, "again");
  require(heed::train::config_text(again) == text);
  try {
    heed::train::check_config(config);
  } catch (const heed::Error& error) {
    require(std::string(error.what()).starts_with("[config] "));
  }
  return 0;
}
