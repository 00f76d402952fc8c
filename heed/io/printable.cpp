#include "heed/io/printable.h"

#include <fmt/format.h>

namespace heed {
namespace {

// C1 controls (U+0080 to U+009F) are two bytes in UTF-8, and terminals obey them like the ASCII ones.
bool is_c1_control(std::string_view text, size_t i) {
  if (static_cast<unsigned char>(text[i]) != 0xC2 || i + 1 == text.size()) return false;
  const auto next = static_cast<unsigned char>(text[i + 1]);
  return next >= 0x80 && next < 0xA0;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
    text = text.substr(0, limit);
  }
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (is_c1_control(text, i)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      result += text[i];
    }
  }
  if (cut) result += "...";
  return result;
}

std::string in_quotes(std::string_view name) { return fmt::format("'{}'", printable(name, 100)); }

}  // namespace heed
