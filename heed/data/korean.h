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

enum class Tense { kPast, kPresent, kFuture };
enum class Politeness { kPlain, kPolite };  // 해라체 (잡았다) and 해요체 (잡았어요)

// How a stem changes before a vowel. What its last syllable tells (하다, 크다, 팔다) needs no class of its own.
enum class StemClass {
  kRegular,  // 잡다: 잡아
  kDigeut,   // 듣다: 들어
  kBieup,    // 무겁다: 무거워
  kReu,      // 부르다: 불러
  kHieut,    // 빨갛다: 빨개
};

// A verb or an adjective; in Korean both take endings.
struct Predicate {
  std::string_view dictionary;  // "잡다"
  StemClass kind = StemClass::kRegular;
  bool adjective = false;
};

std::string infinitive(const Predicate& word);  // 잡아, 먹어, 마셔, 도와: what 요 and the past build on
std::string finite(const Predicate& word, Tense tense, Politeness politeness);  // 잡았다, 잡아요, 잡을 것이다
std::string negative(const Predicate& word, Tense tense, Politeness politeness);  // 잡지 않았다
std::string unable(const Predicate& word, Tense tense, Politeness politeness);    // 찾지 못했다
std::string connective(const Predicate& word);                                    // 잡고
std::string attributive(const Predicate& word);  // of an adjective: 큰, 빨간, 맛있는
// "is a student": 학생이다, 의사다, 학생이에요, 의사였다; the future is 의사가 될 것이다.
std::string copula(std::string_view noun, Tense tense, Politeness politeness);
std::string negative_copula(std::string_view noun, Tense tense, Politeness politeness);  // 학생이 아니다

}  // namespace heed::data
