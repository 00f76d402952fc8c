#include "heed/io/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

// C1 controls (U+0080 to U+009F) are two bytes in UTF-8, and terminals obey them like the ASCII ones.
bool is_c1_control(std::string_view text, size_t i) {
  if (static_cast<unsigned char>(text[i]) != 0xC2 || i + 1 == text.size()) return false;
  const auto next = static_cast<unsigned char>(text[i + 1]);
  return next >= 0x80 && next < 0xA0;
}

// Bytes of the character at i; 0 where none starts there.
size_t character_bytes(std::string_view text, size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  const size_t n = byte < 0x80 ? 1 : byte < 0xC2 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF5 ? 4 : 0;
  if (i + n > text.size()) return 0;
  for (size_t k = 1; k < n; ++k) {
    if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 0;
  }
  return n;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
    text = text.substr(0, limit);
  }
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t n = character_bytes(text, i);
    if (n == 0 || byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (is_c1_control(text, i)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i + 1]));
    } else {
      result += text.substr(i, n);
    }
    i += std::max<size_t>(1, n);
  }
  if (cut) result += "...";
  return result;
}

std::string in_quotes(std::string_view name) { return fmt::format("'{}'", printable(name, 100)); }

std::string with_commas(int64_t n) {
  std::string text = std::to_string(n);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

}  // namespace heed
