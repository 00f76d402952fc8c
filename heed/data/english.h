// The forms of English words that the built-in example needs.
#pragma once

#include <string>
#include <string_view>

namespace heed::data {

std::string third_person(std::string_view verb);    // catches, studies, goes
std::string regular_plural(std::string_view noun);  // boxes, babies, keys
std::string_view article(std::string_view next);    // "an" before a vowel
bool is_english_vowel(char letter);

}  // namespace heed::data
