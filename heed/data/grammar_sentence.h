// A sentence of the built-in example before it is in any language, and its two wordings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/data/grammar_words.h"
#include "heed/data/parallel_corpus.h"

namespace heed::data {

enum class Determiner { kThe, kA, kNone, kOwner, kOwnerNoun, kNumber };

struct Phrase {
  const Pronoun* pronoun = nullptr;  // or a noun with what stands before it
  const Noun* noun = nullptr;
  const Adjective* adjective = nullptr;
  Determiner determiner = Determiner::kThe;
  const Owner* owner = nullptr;      // my
  const Noun* owner_noun = nullptr;  // the girl's
  int number = 0;                    // of kNumber: 1 to 10
  bool plural = false;
};
using Phrases = std::vector<Phrase>;  // none, one, or two that "and" joins

// One of: a verb with what it takes, an adjective (is big), a noun (is a doctor).
struct Statement {
  const Verb* verb = nullptr;
  Phrases object, recipient;
  bool recipient_after_to = false;  // "gave a flower to the girl", not "gave the girl a flower"
  const Place* goal = nullptr;
  const Adjective* adjective = nullptr;
  const Noun* job = nullptr;
  const Adjective* job_adjective = nullptr;  // is a kind doctor
};

struct Sentence {
  Phrases subject;
  Statement statement;
  const Place* place = nullptr;
  const TimeWord* time = nullptr;
  Phrases second_subject;  // empty where the second statement is about the first subject
  std::optional<Statement> second;
  Tense tense = Tense::kPast;
  bool negative = false;
  std::string_view politeness_word;  // empty: plain
};

std::string in_english(const Sentence& sentence);
std::string in_korean(const Sentence& sentence);
inline SentencePair in_both(const Sentence& sentence) { return {in_english(sentence), in_korean(sentence)}; }
std::string plural_of(const Noun& noun);

// Whether the English says which tense it is: "they read a book" does not.
bool tense_is_plain(const Sentence& sentence);

}  // namespace heed::data
