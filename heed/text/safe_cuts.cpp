#include "heed/text/safe_cuts.h"

#include "heed/text/character_kinds.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Of the character before a place.
size_t begin_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && continues_character(text[begin])) --begin;
  return begin;
}

char32_t blank_as_such(char32_t c) { return c == U'▁' ? U' ' : c; }
uint64_t pair_of(char32_t left, char32_t right) {
  return uint64_t{blank_as_such(left)} << 32 | uint64_t{blank_as_such(right)};
}

}  // namespace

bool words_part_at(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return false;
  const Kind before = character_at(text, begin_before(text, at)).kind;
  if (character_at(text, at).kind != Kind::kBlank || before == Kind::kBlank) return false;
  // Signs take the ends of lines behind them along.
  return before != Kind::kOther || (text[at] != '\n' && text[at] != '\r');
}

void Neighbours::add(std::string_view piece) {
  const std::u32string characters = to_code_points(piece);
  for (size_t i = 1; i < characters.size(); ++i) pairs_.insert(pair_of(characters[i - 1], characters[i]));
}

bool Neighbours::joined_at(std::string_view text, size_t at) const {
  if (at == 0 || at >= text.size()) return true;
  const size_t begin = begin_before(text, at), end = character_at(text, at).next;
  const std::u32string both = to_code_points(text.substr(begin, end - begin));
  return both.size() != 2 || pairs_.contains(pair_of(both[0], both[1]));
}

}  // namespace heed::text
