#include "heed/data/grammar.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <unordered_set>

#include "heed/base/error.h"
#include "heed/data/english.h"
#include "heed/data/grammar_sample.h"
#include "heed/text/unicode.h"

namespace heed::data {
namespace {

constexpr int64_t kMostWords = 14;
constexpr uint64_t kStream = uint64_t{0x6EA3} << 48;  // away from other uses of the same seed

int64_t count_words(std::string_view text) { return 1 + std::count(text.begin(), text.end(), ' '); }

// The training sentences among "the girl reads the book": every doer, verb and object, all tenses, yes and no, plain and
// polite.
int64_t count_simple_sentences() {
  int64_t count = 0;
  Sentence sentence;
  sentence.subject.resize(1);
  sentence.statement.object.resize(1);
  const auto count_endings = [&] {
    for (const Tense tense : {Tense::kPast, Tense::kPresent, Tense::kFuture}) {
      for (const bool is_negative : {false, true}) {
        for (const std::string_view word : {std::string_view(), politeness_words()[0], politeness_words()[1]}) {
          sentence.tense = tense;
          sentence.negative = is_negative;
          sentence.politeness_word = word;
          if (!tense_is_plain(sentence)) continue;
          count += part_of(sentence, in_english(sentence)) == GrammarPart::kTrain;
        }
      }
    }
  };
  for (const Verb& verb : verbs()) {
    for (const Noun& doer : nouns()) {
      if (!can_do(verb, doer)) continue;
      for (const Noun& object : nouns()) {
        if (!takes(verb, object) || object.is(kStudy) || is_kept_pair(verb, object)) continue;
        sentence.statement.verb = &verb;
        sentence.subject[0].noun = &doer;
        sentence.statement.object[0].noun = &object;
        count_endings();
      }
    }
  }
  return count;
}

void add_words(std::string_view text, std::set<std::string>& words) {
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) words.insert(word);
}

std::set<std::string> all_words() {
  std::set<std::string> words;
  for (const Noun& noun : nouns()) {
    add_words(noun.english, words);
    if (!noun.mass()) add_words(plural_of(noun), words);
    if (noun.is(kPerson)) words.insert(std::string(noun.english) + "'s");
    if (!noun.measure.empty()) words.insert({std::string(noun.measure), regular_plural(noun.measure)});
  }
  for (const auto list : {verbs(), giving_verbs(), moving_verbs()}) {
    for (const Verb& verb : list) {
      words.insert({std::string(verb.english), std::string(verb.past), third_person(verb.english)});
      add_words(verb.preposition, words);
    }
  }
  for (const Adjective& adjective : adjectives()) add_words(adjective.english, words);
  for (const Pronoun& pronoun : pronouns()) add_words(pronoun.english, words);
  for (const Owner& owner : owners()) add_words(owner.english, words);
  for (const Place& place : places()) (add_words(place.at, words), add_words(place.to, words));
  for (const TimeWord& time : time_words()) add_words(time.english, words);
  for (const NumberWord& number : number_words()) add_words(number.english, words);
  for (const std::string_view word : politeness_words()) add_words(word, words);
  add_words("a an the and of to not do does did will be am is are was were", words);
  return words;
}

// "won't" as "will not", "she'll" as "she will". An "'s" is "is" behind a pronoun alone: "the girl's" owns something.
std::string long_form(const std::string& word) {
  using Form = std::pair<std::string_view, std::string_view>;
  constexpr Form kWhole[] = {{"won't", "will not"}, {"can't", "can not"}, {"cannot", "can not"},
                             {"he's", "he is"},     {"she's", "she is"},  {"it's", "it is"}};
  constexpr Form kEndings[] = {{"n't", " not"}, {"'m", " am"}, {"'re", " are"}, {"'ll", " will"}};
  for (const Form& form : kWhole) {
    if (word == form.first) return std::string(form.second);
  }
  for (const auto& [ending, is] : kEndings) {
    if (word.size() > ending.size() && word.ends_with(ending))
      return word.substr(0, word.size() - ending.size()).append(is);
  }
  return word;
}

}  // namespace

std::vector<SentencePair> grammar_sentences(GrammarPart part, int64_t count, uint64_t seed) {
  Random random(seed, kStream + static_cast<uint64_t>(part));
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> seen;
  constexpr int64_t kTriesWithoutLuck = 1'000'000;
  for (int64_t tries = 0; static_cast<int64_t>(pairs.size()) < count; ++tries) {
    if (tries == kTriesWithoutLuck) fail("[grammar] {} sentences were asked for, found only {}", count, pairs.size());
    const Sentence sentence = random_sentence(random);
    std::string english = in_english(sentence);
    if (count_words(english) > kMostWords || part_of(sentence, english) != part || !seen.insert(english).second)
      continue;
    pairs.push_back({std::move(english), in_korean(sentence)});
    tries = 0;
  }
  return pairs;
}

int64_t grammar_size() {
  static const int64_t size = count_simple_sentences();
  return size;
}

std::vector<std::string> known_words() {
  static const std::set<std::string> words = all_words();
  return {words.begin(), words.end()};
}

std::vector<UnknownWord> unknown_words(std::string_view english) {
  const std::vector<std::string> known = known_words();
  std::vector<UnknownWord> unknown;
  std::istringstream stream{grammar_input(english)};
  for (std::string word; stream >> word;) {
    if (!std::binary_search(known.begin(), known.end(), word)) unknown.push_back({word, nearest(word, known)});
  }
  return unknown;
}

std::string grammar_input(std::string_view typed) {
  std::string text;
  for (const char c : typed) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  text::replace_all(text, "’", "'");
  std::string clean;
  for (const char c : text) clean += std::string_view(".,!?;:\"\t\r\n").find(c) == std::string_view::npos ? c : ' ';
  std::istringstream stream{clean};
  std::string result;
  for (std::string word; stream >> word;) {
    if (!result.empty()) result += ' ';
    result += long_form(word);
  }
  return result;
}

}  // namespace heed::data
