#include "heed/data/korean.h"

#include "heed/base/error.h"

namespace heed::data {
namespace {

constexpr char32_t kFirst = 0xAC00, kLast = 0xD7A3;
constexpr int kVowels = 21, kFinals = 28;

enum Lead { kLeadRieul = 5, kLeadIeung = 11, kLeadHieut = 18 };
enum Vowel {
  kA = 0,
  kAe = 1,
  kYa = 2,
  kYae = 3,
  kEo = 4,
  kE = 5,
  kYeo = 6,
  kO = 8,
  kWa = 9,
  kWae = 10,
  kOe = 11,
  kU = 13,
  kWo = 14,
  kEu = 18,
  kI = 20
};
enum Final { kNone = 0, kNieun = 4, kFinalRieul = 8, kSsangSiot = 20 };

struct Syllable {
  int lead, vowel, final;
};

// A word as what stands before its last syllable, and that syllable.
struct Split {
  std::string before;
  Syllable last;
};

constexpr size_t kBytes = 3;  // of a Hangul syllable in UTF-8

Split split(std::string_view word) {
  char32_t code = 0;
  if (word.size() >= kBytes) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(word[word.size() - kBytes + i]); };
    const bool three_bytes = (byte(0) & 0xF0u) == 0xE0 && (byte(1) & 0xC0u) == 0x80 && (byte(2) & 0xC0u) == 0x80;
    if (three_bytes) code = (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
  }
  if (code < kFirst || code > kLast) fail("[korean] '{}' does not end in a Hangul syllable", word);
  const int index = static_cast<int>(code - kFirst);
  return {std::string(word.substr(0, word.size() - kBytes)),
          {index / (kVowels * kFinals), index / kFinals % kVowels, index % kFinals}};
}

std::string join(const Split& word) {
  const Syllable& s = word.last;
  const auto code = kFirst + static_cast<char32_t>((s.lead * kVowels + s.vowel) * kFinals + s.final);
  const char bytes[] = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
                        static_cast<char>(0x80 | (code & 0x3F))};
  return word.before + std::string(bytes, kBytes);
}

std::string with_final(const Split& word, int final) {
  Split changed = word;
  changed.last.final = final;
  return join(changed);
}

std::string with_vowel(const Split& word, int vowel) {
  Split changed = word;
  changed.last.vowel = vowel;
  return join(changed);
}

std::string stem_of(const Predicate& word) {
  return std::string(word.dictionary.substr(0, word.dictionary.size() - kBytes));
}

bool is_bright(int vowel) { return vowel == kA || vowel == kO || vowel == kYa; }

// 아 after a bright vowel, 어 after a dark one.
std::string harmonic(const std::string& stem) { return stem + (is_bright(split(stem).last.vowel) ? "아" : "어"); }

// A stem without final consonant melts with the ending.
std::string melt(const std::string& stem) {
  const Split word = split(stem);
  switch (word.last.vowel) {
    case kA:
      return word.last.lead == kLeadHieut ? with_vowel(word, kAe) : stem;  // 하다: 해
    case kEo:
    case kYeo:
    case kAe:
    case kE:
      return stem;
    case kO:
      return with_vowel(word, kWa);
    case kU:
      return with_vowel(word, kWo);
    case kI:
      return with_vowel(word, kYeo);
    case kOe:
      return with_vowel(word, kWae);
    case kEu: {
      const bool bright = !word.before.empty() && is_bright(split(word.before).last.vowel);
      return with_vowel(word, bright ? kA : kEo);
    }
    default:
      return stem + "어";  // 쉬다: 쉬어
  }
}

std::string reu_infinitive(const std::string& stem) {
  const Split before = split(split(stem).before);
  return with_final(before, kFinalRieul) + (is_bright(before.last.vowel) ? "라" : "러");
}

// Before ㄴ and ㄹ: the stem as a word to which a final consonant is added, or that takes 은 and 을.
struct OpenStem {
  std::string stem;
  bool takes_final;
};

OpenStem open_stem(const Predicate& word) {
  const std::string stem = stem_of(word);
  const Split parts = split(stem);
  switch (word.kind) {
    case StemClass::kDigeut:
      return {with_final(parts, kFinalRieul), false};
    case StemClass::kBieup:
      return {with_final(parts, kNone) + "우", true};
    case StemClass::kHieut:
      return {with_final(parts, kNone), true};
    default:
      if (parts.last.final == kFinalRieul) return {with_final(parts, kNone), true};
      return {stem, parts.last.final == kNone};
  }
}

std::string present(const Predicate& word) {
  if (word.adjective) return std::string(word.dictionary);
  const std::string stem = stem_of(word);
  const Split parts = split(stem);
  // ㄹ gives way to ㄴ: 팔다, 판다.
  return parts.last.final == kNone || parts.last.final == kFinalRieul ? with_final(parts, kNieun) + "다"
                                                                      : stem + "는다";
}

std::string future(const Predicate& word, Politeness politeness) {
  const OpenStem open = open_stem(word);
  const std::string form = open.takes_final ? with_final(split(open.stem), kFinalRieul) : open.stem + "을";
  return form + (politeness == Politeness::kPlain ? " 것이다" : " 거예요");
}

}  // namespace

bool ends_in_consonant(std::string_view word) { return split(word).last.final != kNone; }

std::string with_particle(std::string_view noun, std::string_view after_consonant, std::string_view after_vowel) {
  return std::string(noun).append(ends_in_consonant(noun) ? after_consonant : after_vowel);
}

std::string infinitive(const Predicate& word) {
  const std::string stem = stem_of(word);
  const Split parts = split(stem);
  switch (word.kind) {
    case StemClass::kDigeut:
      return harmonic(with_final(parts, kFinalRieul));
    case StemClass::kBieup:
      // Of the words of one syllable only 돕다 and 곱다 keep the bright vowel.
      return with_final(parts, kNone) + (parts.before.empty() && parts.last.vowel == kO ? "와" : "워");
    case StemClass::kReu:
      return reu_infinitive(stem);
    case StemClass::kHieut: {
      const Split bare{parts.before, {parts.last.lead, parts.last.vowel == kYa ? kYae : kAe, kNone}};
      return join(bare);
    }
    case StemClass::kRegular:
      break;
  }
  return parts.last.final == kNone ? melt(stem) : harmonic(stem);
}

std::string finite(const Predicate& word, Tense tense, Politeness politeness) {
  const bool plain = politeness == Politeness::kPlain;
  switch (tense) {
    case Tense::kPast:
      return with_final(split(infinitive(word)), kSsangSiot) + (plain ? "다" : "어요");
    case Tense::kPresent:
      return plain ? present(word) : infinitive(word) + "요";
    case Tense::kFuture:
      break;
  }
  return future(word, politeness);
}

std::string negative(const Predicate& word, Tense tense, Politeness politeness) {
  const Predicate not_to{"않다", StemClass::kRegular, word.adjective};
  return stem_of(word) + "지 " + finite(not_to, tense, politeness);
}

std::string unable(const Predicate& word, Tense tense, Politeness politeness) {
  return stem_of(word) + "지 " + finite({"못하다"}, tense, politeness);
}

std::string connective(const Predicate& word) { return stem_of(word) + "고"; }

std::string attributive(const Predicate& word) {
  if (word.dictionary.ends_with("있다")) return stem_of(word) + "는";
  const OpenStem open = open_stem(word);
  return open.takes_final ? with_final(split(open.stem), kNieun) : open.stem + "은";
}

std::string copula(std::string_view noun, Tense tense, Politeness politeness) {
  const bool plain = politeness == Politeness::kPlain;
  switch (tense) {
    case Tense::kPast:
      return with_particle(noun, "이었", "였") + (plain ? "다" : "어요");
    case Tense::kPresent:
      return plain ? with_particle(noun, "이다", "다") : with_particle(noun, "이에요", "예요");
    case Tense::kFuture:
      break;
  }
  return subject(noun) + " " + finite({"되다"}, tense, politeness);
}

std::string negative_copula(std::string_view noun, Tense tense, Politeness politeness) {
  const bool plain = politeness == Politeness::kPlain;
  switch (tense) {
    case Tense::kPast:
      return subject(noun) + (plain ? " 아니었다" : " 아니었어요");
    case Tense::kPresent:
      return subject(noun) + (plain ? " 아니다" : " 아니에요");
    case Tense::kFuture:
      break;
  }
  return subject(noun) + " " + negative({"되다"}, tense, politeness);
}

}  // namespace heed::data
