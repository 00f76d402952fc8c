#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "heed/base/error.h"
#include "heed/data/grammar.h"
#include "heed/data/grammar_sample.h"

namespace heed::data {
namespace {

constexpr GrammarPart kParts[] = {GrammarPart::kTrain, GrammarPart::kOrdinary, GrammarPart::kCompositions};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream{text};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(GrammarParts, TheSameForTheSameSeed) {
  const auto sources = [](GrammarPart part, uint64_t seed) {
    std::vector<std::string> all;
    for (const SentencePair& pair : grammar_sentences(part, 200, seed)) all.push_back(pair.source + "|" + pair.target);
    return all;
  };
  for (const GrammarPart part : kParts) {
    EXPECT_EQ(sources(part, 1), sources(part, 1));
    EXPECT_NE(sources(part, 1), sources(part, 2));
  }
}

// One English sentence has one translation, whatever the seed and the part; and no part shares a sentence with another.
TEST(GrammarParts, AFunctionAndDisjoint) {
  std::unordered_map<std::string, std::string> translation;
  std::unordered_map<std::string, GrammarPart> part_of_source;
  for (const uint64_t seed : {1, 2, 3}) {
    for (const GrammarPart part : kParts) {
      const int64_t count = part == GrammarPart::kTrain ? 60000 : 6000;
      std::unordered_set<std::string> distinct;
      for (const SentencePair& pair : grammar_sentences(part, count, seed)) {
        EXPECT_TRUE(distinct.insert(pair.source).second) << pair.source;
        const auto [entry, is_new] = translation.emplace(pair.source, pair.target);
        ASSERT_TRUE(is_new || entry->second == pair.target) << pair.source;
        ASSERT_EQ(part_of_source.emplace(pair.source, part).first->second, part) << pair.source;
      }
      EXPECT_EQ(distinct.size(), static_cast<size_t>(count));
    }
  }
  EXPECT_GT(translation.size(), 150000u);
}

using WordPair = std::pair<std::string_view, std::string_view>;

// Every verb with its object and every adjective with its noun, found here by looking at all of the sentence.
void add_pairs(const Phrases& phrases, std::set<WordPair>& pairs) {
  for (const Phrase& phrase : phrases) {
    if (phrase.adjective) pairs.emplace(phrase.adjective->english, phrase.noun->english);
  }
}

void add_pairs(const Phrases& subject, const Statement& statement, std::set<WordPair>& pairs) {
  for (const Phrases* phrases : {&subject, &statement.object, &statement.recipient}) add_pairs(*phrases, pairs);
  for (const Phrase& object : statement.object) pairs.emplace(statement.verb->english, object.noun->english);
  if (statement.adjective && subject[0].noun) pairs.emplace(statement.adjective->english, subject[0].noun->english);
  if (statement.job_adjective) pairs.emplace(statement.job_adjective->english, statement.job->english);
}

std::set<WordPair> pairs_of(const Sentence& sentence) {
  std::set<WordPair> pairs;
  add_pairs(sentence.subject, sentence.statement, pairs);
  const bool again = sentence.second_subject.empty();
  if (sentence.second) add_pairs(again ? sentence.subject : sentence.second_subject, *sentence.second, pairs);
  return pairs;
}

TEST(GrammarParts, CompositionsNeverOccurInTraining) {
  std::set<WordPair> trained, composed;
  int64_t compositions = 0;
  Random random(11);
  for (int i = 0; i < 100000; ++i) {
    const Sentence sentence = random_sentence(random);
    const auto part = part_of(sentence, in_english(sentence));
    if (part == GrammarPart::kTrain) trained.merge(pairs_of(sentence));
    if (part != GrammarPart::kCompositions) continue;
    const std::set<WordPair> pairs = pairs_of(sentence);
    ASSERT_FALSE(pairs.empty());
    composed.insert(pairs.begin(), pairs.end());
    ++compositions;
  }
  EXPECT_GT(compositions, 2500);
  EXPECT_GT(composed.size(), 150u);
  EXPECT_GT(trained.size(), 1000u);
  std::vector<WordPair> common;
  std::set_intersection(trained.begin(), trained.end(), composed.begin(), composed.end(), std::back_inserter(common));
  EXPECT_TRUE(common.empty()) << common[0].first << " " << common[0].second;
}

TEST(GrammarParts, NothingIsFastAndSlow) {
  Random random(12);
  int joined = 0;
  for (int i = 0; i < 20000; ++i) {
    const Sentence sentence = random_sentence(random);
    if (!sentence.second || !sentence.second->adjective) continue;
    ++joined;
    const Adjective &first = *sentence.statement.adjective, &second = *sentence.second->adjective;
    EXPECT_NE(&first, &second);
    EXPECT_TRUE(first.scale == Scale::kNone || first.scale != second.scale) << first.english << " " << second.english;
  }
  EXPECT_GT(joined, 100);
}

TEST(GrammarParts, EveryWordIsOftenInTraining) {
  std::map<std::string, int> count;
  int longest = 0, shortest = 100;
  for (const SentencePair& pair : grammar_sentences(GrammarPart::kTrain, 50000, 4)) {
    const auto words = words_of(pair.source);
    for (const std::string& word : words) ++count[word];
    longest = std::max(longest, static_cast<int>(words.size()));
    shortest = std::min(shortest, static_cast<int>(words.size()));
  }
  EXPECT_LE(longest, 14);
  EXPECT_GE(shortest, 2);
  EXPECT_EQ(count.size(), known_words().size());
  for (const std::string& word : known_words()) EXPECT_GE(count[word], 10) << word;
  for (const Noun& noun : nouns()) EXPECT_GE(count[std::string(noun.english)], 50) << noun.english;
  for (const Adjective& word : adjectives()) EXPECT_GE(count[std::string(word.english)], 200) << word.english;
}

TEST(GrammarParts, IsLarge) {
  EXPECT_GE(grammar_size(), 100000);
  EXPECT_GE(known_words().size(), 120u);
}

TEST(GrammarInput, IsMadeFit) {
  EXPECT_EQ(grammar_input("  The cat caught  the mouse. "), "the cat caught the mouse");
  EXPECT_EQ(grammar_input("I didn’t read a book, sir!"), "i did not read a book sir");
  EXPECT_EQ(grammar_input("the girl's dog won't sleep"), "the girl's dog will not sleep");
  EXPECT_EQ(grammar_input(" \t.\n"), "");
  EXPECT_EQ(grammar_input("고양이"), "고양이");
}

TEST(GrammarInput, ShortFormsAreSaidInFull) {
  const std::pair<const char*, const char*> forms[] = {{"I'm", "i am"},
                                                       {"I'll", "i will"},
                                                       {"he's", "he is"},
                                                       {"he'll", "he will"},
                                                       {"she's", "she is"},
                                                       {"she'll", "she will"},
                                                       {"it's", "it is"},
                                                       {"we're", "we are"},
                                                       {"we'll", "we will"},
                                                       {"they're", "they are"},
                                                       {"you're", "you are"},
                                                       {"they'll", "they will"},
                                                       {"you'll", "you will"},
                                                       {"don't", "do not"},
                                                       {"doesn't", "does not"},
                                                       {"didn't", "did not"},
                                                       {"won't", "will not"},
                                                       {"isn't", "is not"},
                                                       {"aren't", "are not"},
                                                       {"wasn't", "was not"},
                                                       {"weren't", "were not"},
                                                       {"can't", "can not"},
                                                       {"girl's", "girl's"},
                                                       {"ma'am", "ma'am"},
                                                       {"the cat'll", "the cat will"}};
  for (const auto& [typed, full] : forms) {
    std::string curly = typed;
    curly.replace(curly.find('\''), 1, "’");
    EXPECT_EQ(grammar_input(typed), full);
    EXPECT_EQ(grammar_input(curly), full);
  }
  for (const char* said : {"They’re hungry.", "We’re not farmers!", "she's a nurse, ma’am", "I’ll read a book"})
    EXPECT_TRUE(unknown_words(said).empty()) << said;
  // What the grammar cannot say is told by the word that it lacks.
  const auto unknown = unknown_words("you're hungry");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].word, "you");
}

TEST(GrammarInput, UnknownWords) {
  EXPECT_TRUE(unknown_words("The girl's dog didn't catch two mice, ma'am.").empty());
  const auto unknown = unknown_words("the elefant caght the mouse");
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].word, "elefant");
  EXPECT_EQ(unknown[0].nearest, "");
  EXPECT_EQ(unknown[1].word, "caght");
  EXPECT_EQ(unknown[1].nearest, "caught");
}

}  // namespace
}  // namespace heed::data
