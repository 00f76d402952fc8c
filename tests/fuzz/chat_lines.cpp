// Throws lines at the reader of conversations: each is one, with an answer in it, or has a clean reason why not. `make fuzz`
// runs it.
#include "heed/data/chat_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "heed/text/unicode.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto line = heed::data::read_chat_line({reinterpret_cast<const char*>(data), size});
  if (line.problem.empty()) {
    require(
        std::any_of(line.messages.begin(), line.messages.end(), [](const auto& m) { return m.role == "assistant"; }));
    for (const auto& [role, content] : line.messages) require(heed::text::valid_utf8(role + content));
    return 0;
  }
  require(line.messages.empty());
  const std::string message = line.problem + ": " + line.detail;
  require(!line.detail.empty() && message.size() < 1024);
  require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
  return 0;
}
