#include "heed/text/gpt2_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace heed::text {
namespace {

enum class Kind { kEnd, kBlank, kLetter, kNumber, kOther };

// A character and where the next one begins.
struct Character {
  Kind kind = Kind::kEnd;
  size_t next = 0;
};

Kind kind_of(UChar32 c) {
  const uint32_t category = U_MASK(u_charType(c));
  if (category & U_GC_L_MASK) return Kind::kLetter;
  if (category & U_GC_N_MASK) return Kind::kNumber;
  return u_isUWhiteSpace(c) ? Kind::kBlank : Kind::kOther;
}

Character character_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {Kind::kEnd, at};
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  auto next = static_cast<int64_t>(at);
  UChar32 c = 0;
  U8_NEXT_OR_FFFD(bytes, next, static_cast<int64_t>(text.size()), c);
  return {kind_of(c), static_cast<size_t>(next)};
}

size_t contraction_end(std::string_view text, size_t at) {
  if (text[at] != '\'') return at;
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(at).starts_with(ending)) return at + ending.size();
  }
  return at;
}

size_t end_of_run(std::string_view text, size_t at, Kind kind) {
  for (Character c = character_at(text, at); c.kind == kind; c = character_at(text, at)) at = c.next;
  return at;
}

// Blanks: all of them at the end of the text; else the last one is left for the word behind it, unless it is alone.
size_t blanks_end(std::string_view text, size_t at) {
  size_t last = at, end = at;
  for (Character c = character_at(text, at); c.kind == Kind::kBlank; c = character_at(text, end))
    last = end, end = c.next;
  return end == text.size() || last == at ? end : last;
}

size_t word_end(std::string_view text, size_t at) {
  if (const size_t end = contraction_end(text, at); end > at) return end;
  const Character first = character_at(text, at);
  if (first.kind != Kind::kBlank) return end_of_run(text, at, first.kind);
  if (text[at] == ' ') {
    const Character second = character_at(text, at + 1);
    if (second.kind != Kind::kBlank && second.kind != Kind::kEnd) return end_of_run(text, at + 1, second.kind);
  }
  return blanks_end(text, at);
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace heed::text
