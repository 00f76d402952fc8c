// Letters, numbers, blanks and the rest, as the patterns of published tokenizers tell them apart.
#pragma once

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <string_view>

namespace heed::text {

enum class Kind { kEnd, kBlank, kLetter, kNumber, kOther };

// A character and where the next one begins.
struct Character {
  Kind kind = Kind::kEnd;
  size_t next = 0;
};

inline Kind kind_of(UChar32 c) {
  const uint32_t category = U_MASK(u_charType(c));
  if (category & U_GC_L_MASK) return Kind::kLetter;
  if (category & U_GC_N_MASK) return Kind::kNumber;
  return u_isUWhiteSpace(c) ? Kind::kBlank : Kind::kOther;
}

inline Character character_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {Kind::kEnd, at};
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  auto next = static_cast<int64_t>(at);
  UChar32 c = 0;
  U8_NEXT_OR_FFFD(bytes, next, static_cast<int64_t>(text.size()), c);
  return {kind_of(c), static_cast<size_t>(next)};
}

inline size_t end_of_run(std::string_view text, size_t at, Kind kind) {
  for (Character c = character_at(text, at); c.kind == kind; c = character_at(text, at)) at = c.next;
  return at;
}

// Blanks: all of them at the end of the text; else the last one is left for the word behind it, unless it is alone.
inline size_t blanks_end(std::string_view text, size_t at) {
  size_t last = at, end = at;
  for (Character c = character_at(text, at); c.kind == Kind::kBlank; c = character_at(text, end))
    last = end, end = c.next;
  return end == text.size() || last == at ? end : last;
}

}  // namespace heed::text
