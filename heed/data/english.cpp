#include "heed/data/english.h"

namespace heed::data {
namespace {

bool ends_in_y_after_consonant(std::string_view word) {
  return word.size() > 1 && word.back() == 'y' && !is_english_vowel(word[word.size() - 2]);
}

bool hisses(std::string_view word) {
  return word.ends_with("s") || word.ends_with("x") || word.ends_with("z") || word.ends_with("ch") ||
         word.ends_with("sh");
}

}  // namespace

bool is_english_vowel(char letter) { return std::string_view("aeiou").find(letter) != std::string_view::npos; }

std::string regular_plural(std::string_view noun) {
  if (ends_in_y_after_consonant(noun)) return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  return std::string(noun) + (hisses(noun) ? "es" : "s");
}

std::string third_person(std::string_view verb) {
  return verb.ends_with("o") ? std::string(verb) + "es" : regular_plural(verb);
}

std::string_view article(std::string_view next) { return !next.empty() && is_english_vowel(next[0]) ? "an" : "a"; }

}  // namespace heed::data
