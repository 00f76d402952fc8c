// The words of the built-in example. What goes with what is said by kinds: a verb takes the objects, and an adjective
// the nouns, that share a kind with it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heed/data/korean.h"

namespace heed::data {

using Kinds = uint64_t;
enum Kind : Kinds {
  kPerson = Kinds{1} << 0,
  kAnimal = Kinds{1} << 1,
  kSmall = Kinds{1} << 2,      // animals that can be caught
  kJob = Kinds{1} << 3,        // what a person can be
  kChildlike = Kinds{1} << 4,  // people who are cute
  kFood = Kinds{1} << 5,
  kFeed = Kinds{1} << 6,  // what animals eat
  kDrink = Kinds{1} << 7,
  kLapped = Kinds{1} << 8,  // what animals drink
  kWarm = Kinds{1} << 9,    // served hot or cold
  kText = Kinds{1} << 10,
  kWritten = Kinds{1} << 11,  // what people write themselves
  kSound = Kinds{1} << 12,
  kStudy = Kinds{1} << 13,  // school subjects: no article, no plural
  kThing = Kinds{1} << 14,
  kBreaks = Kinds{1} << 15,
  kOpens = Kinds{1} << 16,
  kThrown = Kinds{1} << 17,
  kWashed = Kinds{1} << 18,
  kMade = Kinds{1} << 19,
  kPushed = Kinds{1} << 20,
  kKept = Kinds{1} << 21,  // small things that are lost and hidden
  kGift = Kinds{1} << 22,
  kGoods = Kinds{1} << 23,  // what is bought and sold
  kDrawn = Kinds{1} << 24,
  kPlayed = Kinds{1} << 25,  // instruments that are struck or plucked: 치다
  kHead = Kinds{1} << 26,    // worn: 쓰다
  kBody = Kinds{1} << 27,    // worn: 입다
  kFinger = Kinds{1} << 28,  // worn: 끼다
  kColoured = Kinds{1} << 29,
  kFine = Kinds{1} << 30,     // things that are beautiful
  kMoves = Kinds{1} << 31,    // fast or slow
  kLong = Kinds{1} << 32,     // long or short
  kRelated = Kinds{1} << 33,  // people who are somebody's
  kArt = Kinds{1} << 34,      // can be famous
};

struct Noun {
  std::string_view english;
  std::string_view plural;  // where it is irregular; "-" of what has none
  std::string_view korean;
  std::string_view counter;  // 고양이 두 "마리"
  Kinds kinds;
  std::string_view measure = {};  // of what is not counted itself: two "cup"s of coffee
  bool mass() const { return plural == "-"; }
  bool is(Kinds any) const { return (kinds & any) != 0; }
};

struct Verb {
  std::string_view english, past;
  Predicate korean;
  Kinds subjects, objects;            // no objects: it takes none
  std::string_view preposition = {};  // "for" of "waits for"
  bool somewhere = true;              // may be said with a place
  bool by_ability = false;            // not to do it is not to manage: 찾지 못하다
  std::string_view at = "에서";       // of a place where it is done; 에 where something comes to be there: 숨기다
};

// What two adjectives may disagree about: nothing is fast and slow.
enum class Scale { kNone, kSize, kColour, kPrice, kMood, kSpeed, kLength, kWeight, kHeat, kEase };

struct Adjective {
  std::string_view english;
  Predicate korean;
  Kinds nouns;
  Scale scale = Scale::kNone;
  std::string_view before_noun = {};  // 새: has no other form
  bool predicative() const { return before_noun.empty(); }
};

struct Pronoun {
  std::string_view english, korean, polite;
  bool third_singular;
};

struct Owner {
  std::string_view english, korean, polite;
};

struct Place {
  std::string_view at, to, korean;  // "in the park", "to the park", 공원
};

struct TimeWord {
  std::string_view english, korean;
  bool past, present, future;
};

std::span<const Noun> nouns();
std::span<const Verb> verbs();         // with and without an object
std::span<const Verb> giving_verbs();  // with an object and somebody who gets it
std::span<const Verb> moving_verbs();  // with a place to go to
std::span<const Adjective> adjectives();
std::span<const Pronoun> pronouns();
std::span<const Owner> owners();
std::span<const Place> places();
std::span<const TimeWord> time_words();
struct NumberWord {
  std::string_view english, korean;
};
std::span<const NumberWord> number_words();            // one to ten
std::span<const std::string_view> politeness_words();  // at the end of an English sentence: spoken with respect

}  // namespace heed::data
