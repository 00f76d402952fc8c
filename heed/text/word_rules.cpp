#include "heed/text/word_rules.h"

#include "heed/text/character_kinds.h"
#include "heed/text/gpt2_words.h"

namespace heed::text {
namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                                            R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                           R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

bool ends_line(char c) { return c == '\r' || c == '\n'; }

// 's and the like in either case; the long s (U+017F) is an s in another case.
size_t contraction_end(std::string_view text, size_t at) {
  if (text[at] != '\'') return at;
  const std::string_view rest = text.substr(at + 1);
  if (rest.starts_with("\u017F")) return at + 3;
  for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    size_t same = 0;
    while (same < ending.size() && same < rest.size() && (rest[same] | 0x20) == ending[same]) ++same;
    if (same == ending.size()) return at + 1 + same;
  }
  return at;
}

size_t numbers_end(std::string_view text, size_t at, int most) {
  for (Character c = character_at(text, at); most > 0 && c.kind == Kind::kNumber; c = character_at(text, at), --most)
    at = c.next;
  return at;
}

// Up to the last end of a line among them; without one as GPT-2 does it.
size_t blank_lines_end(std::string_view text, size_t at) {
  const size_t end = end_of_run(text, at, Kind::kBlank);
  for (size_t i = end; i > at; --i) {
    if (ends_line(text[i - 1])) return i;
  }
  return blanks_end(text, at);
}

size_t word_end(std::string_view text, size_t at, int digits) {
  if (const size_t end = contraction_end(text, at); end > at) return end;
  const Character first = character_at(text, at);
  if (first.kind == Kind::kLetter) return end_of_run(text, at, Kind::kLetter);
  if (first.kind == Kind::kNumber) return numbers_end(text, at, digits);
  if (!ends_line(text[at]) && character_at(text, first.next).kind == Kind::kLetter)
    return end_of_run(text, first.next, Kind::kLetter);
  const size_t begin = text[at] == ' ' ? at + 1 : at;
  size_t end = end_of_run(text, begin, Kind::kOther);
  if (end == begin) return blank_lines_end(text, at);
  while (end < text.size() && ends_line(text[end])) ++end;
  return end;
}

std::vector<std::string_view> by_llama3(std::string_view text, int digits) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at, digits);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string_view> with_single_digits(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const Character first = character_at(text, at);
    if (first.kind == Kind::kNumber) {
      words.push_back(text.substr(at, first.next - at));
      at = first.next;
      continue;
    }
    size_t end = at;
    for (Character c = first; c.kind != Kind::kNumber && c.kind != Kind::kEnd; c = character_at(text, end))
      end = c.next;
    const std::vector<std::string_view> between = gpt2_words(text.substr(at, end - at));
    words.insert(words.end(), between.begin(), between.end());
    at = end;
  }
  return words;
}

}  // namespace

std::optional<WordRule> word_rule(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return WordRule::kGpt2;
  if (pattern == kLlama3Pattern) return WordRule::kLlama3;
  if (pattern == kQwen2Pattern) return WordRule::kQwen2;
  return std::nullopt;
}

std::vector<std::string_view> split_words(std::string_view text, WordRule rule) {
  switch (rule) {
    case WordRule::kGpt2:
      break;
    case WordRule::kSingleDigits:
      return with_single_digits(text);
    case WordRule::kLlama3:
      return by_llama3(text, 3);
    case WordRule::kQwen2:
      return by_llama3(text, 1);
  }
  return gpt2_words(text);
}

}  // namespace heed::text
