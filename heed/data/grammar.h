// The built-in example: English sentences and their Korean translations from one grammar.
// Korean puts the verb last, marks topic, subject and object by particles that depend on the final consonant, and
// says tense and politeness in the verb's ending. English marks politeness by a last word: "the cat caught the mouse"
// is 잡았다, "the cat caught the mouse sir" (or "ma'am") is 잡았어요. Articles have no translation; who does something
// takes 이/가, and pronouns, negated and describing sentences take 은/는.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/parallel_corpus.h"

namespace heed::data {

// kOrdinary: sentences that training never saw. kCompositions: besides, their verb-object and adjective-noun pairs
// occur in no training sentence.
enum class GrammarPart { kTrain, kOrdinary, kCompositions };

// `count` distinct pairs of a part, the same for the same seed; parts share no sentence, whatever the seeds.
std::vector<SentencePair> grammar_sentences(GrammarPart part, int64_t count, uint64_t seed);
// At least how many distinct pairs the training part holds: its simplest sentences, counted one by one.
int64_t grammar_size();

// Sentences that show what is hard, with their translations: particles after consonants and vowels, counters, ...
// They are in no part.
struct TrickySentence {
  SentencePair pair;
  std::string why;  // "쥐 ends in a vowel: 를"
};
const std::vector<TrickySentence>& tricky_sentences();

// Words of a sentence that the grammar does not know, each with the nearest known one ("" where none is near).
struct UnknownWord {
  std::string word, nearest;
};
std::vector<UnknownWord> unknown_words(std::string_view english);
std::vector<std::string> known_words();
// What a person types, made fit: lower case, without punctuation, blanks trimmed, "didn't" as "did not".
std::string grammar_input(std::string_view typed);

}  // namespace heed::data
