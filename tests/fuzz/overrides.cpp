// Throws text at --set: an assignment is taken and reads back the same, or is refused with one line and changes nothing.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "heed/base/error.h"
#include "heed/text/unicode.h"
#include "heed/train/config.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_message(const std::string& message) {
  require(message.starts_with("[config] --set ") && message.size() < 4096);
  require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string assignment(reinterpret_cast<const char*>(data), size);
  heed::train::TrainConfig config;
  const std::string before = heed::train::config_text(config);
  try {
    heed::train::set_config(config, assignment);
  } catch (const heed::Error& error) {
    check_message(error.what());
    require(heed::train::config_text(config) == before);
    return 0;
  }
  if (!heed::text::valid_utf8(assignment)) return 0;  // check_config refuses it later
  const std::string text = heed::train::config_text(config);
  heed::train::TrainConfig again;
  heed::train::read_config_text(again, text, "again");
  require(heed::train::config_text(again) == text);
  return 0;
}
