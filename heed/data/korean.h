// Korean words and their endings, by the arithmetic of Hangul syllables (Unicode 3.12: 0xAC00 + 588 L + 28 V + T).
#pragma once

#include <string>
#include <string_view>

namespace heed::data {

bool ends_in_consonant(std::string_view word);  // of a word that ends in a Hangul syllable
std::string with_particle(std::string_view noun, std::string_view after_consonant, std::string_view after_vowel);
inline std::string subject(std::string_view noun) { return with_particle(noun, "이", "가"); }
inline std::string object(std::string_view noun) { return with_particle(noun, "을", "를"); }
inline std::string topic(std::string_view noun) { return with_particle(noun, "은", "는"); }
inline std::string with(std::string_view noun) { return with_particle(noun, "과", "와"); }

}  // namespace heed::data
