// Throws text at chat templates: one is understood or refused with one clean line, and what is understood writes
// conversations, or refuses them, within bounds of time and memory. `make fuzz` runs it.
#include "heed/text/chat_template.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "heed/base/error.h"

namespace {

using heed::text::ChatTemplate;
using heed::text::Conversation;
using heed::text::Value;

void require(bool condition) {
  if (!condition) std::abort();
}

void use(const ChatTemplate& chat, const Conversation& talk) {
  const std::string whole = chat.render(talk, false);
  require(whole.size() < size_t{32} << 20);
  size_t before = 0;
  for (const ChatTemplate::Part& part : chat.answers(talk, whole)) {
    require(part.begin >= before && part.begin < part.end && part.end <= whole.size());
    before = part.begin;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const ChatTemplate chat({reinterpret_cast<const char*>(data), size},
                            {{"bos_token", Value::text("<s>")}, {"eos_token", Value::text("</s>")}}, "input");
    use(chat, {{"user", "a question"}, {"assistant", "an answer"}});
    use(chat, {{"system", "be kind "}, {"user", "왜?\n"}, {"assistant", " 그래서"}, {"user", ""}, {"assistant", ""}});
  } catch (const heed::FileError& error) {
    const std::string message = error.what();
    require(message.starts_with("[template] input:"));
    require(message.size() < 4096);
    require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
  }
  return 0;
}
