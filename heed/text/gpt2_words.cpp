#include "heed/text/gpt2_words.h"

#include "heed/text/character_kinds.h"

namespace heed::text {
namespace {

size_t contraction_end(std::string_view text, size_t at) {
  if (text[at] != '\'') return at;
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(at).starts_with(ending)) return at + ending.size();
  }
  return at;
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
