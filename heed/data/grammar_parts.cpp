#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heed/data/grammar_sample.h"

namespace heed::data {
namespace {

// FNV-1a, with its bits mixed once more.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCD;
  return hash ^ hash >> 33;
}

// About a sixth of what goes with a word is kept, chosen by hash; of fewer than four nothing, so that each word has
// company left to be learned from.
using Pairs = std::set<std::pair<std::string_view, std::string_view>>;

Pairs keep_pairs(const std::map<std::string_view, std::set<std::string_view>>& company) {
  Pairs kept;
  for (const auto& [word, nouns_of_word] : company) {
    std::vector<std::pair<uint64_t, std::string_view>> ranked;
    for (const std::string_view noun : nouns_of_word) {
      ranked.emplace_back(hash_of(std::string(word) + " " + std::string(noun)), noun);
    }
    std::sort(ranked.begin(), ranked.end());
    ranked.resize((ranked.size() + 2) / 6);
    for (const auto& entry : ranked) kept.emplace(word, entry.second);
  }
  return kept;
}

// By the English words, so that "eat" of people and of animals keeps the same.
const Pairs& kept_objects() {
  static const Pairs kept = [] {
    std::map<std::string_view, std::set<std::string_view>> company;
    for (const auto list : {verbs(), giving_verbs()}) {
      for (const Verb& verb : list) {
        for (const Noun& noun : nouns()) {
          if (takes(verb, noun)) company[verb.english].insert(noun.english);
        }
      }
    }
    company.erase("wear");  // whose translation hangs on the object
    return keep_pairs(company);
  }();
  return kept;
}

const Pairs& kept_descriptions() {
  static const Pairs kept = [] {
    std::map<std::string_view, std::set<std::string_view>> company;
    for (const Adjective& adjective : adjectives()) {
      for (const Noun& noun : nouns()) {
        if (fits(adjective, noun)) company[adjective.english].insert(noun.english);
      }
    }
    return keep_pairs(company);
  }();
  return kept;
}

struct PairCount {
  int kept = 0, open = 0;
  void add(bool is_kept) { ++(is_kept ? kept : open); }
};

void count_descriptions(const Phrases& phrases, const Adjective* predicate, PairCount& count) {
  for (const Phrase& phrase : phrases) {
    if (phrase.noun && phrase.adjective) count.add(is_kept_pair(*phrase.adjective, *phrase.noun));
    if (phrase.noun && predicate) count.add(is_kept_pair(*predicate, *phrase.noun));
  }
}

void count_pairs(const Statement& statement, const Phrases& subject, PairCount& count) {
  count_descriptions(subject, statement.adjective, count);
  count_descriptions(statement.object, nullptr, count);
  count_descriptions(statement.recipient, nullptr, count);
  if (statement.job_adjective) count.add(is_kept_pair(*statement.job_adjective, *statement.job));
  for (const Phrase& object : statement.object) count.add(is_kept_pair(*statement.verb, *object.noun));
}

bool is_shown(std::string_view english) {
  static const std::set<std::string, std::less<>> shown = [] {
    std::set<std::string, std::less<>> all;
    for (const TrickySentence& tricky : tricky_sentences()) all.insert(tricky.pair.source);
    return all;
  }();
  return shown.contains(english);
}

}  // namespace

bool is_kept_pair(const Verb& verb, const Noun& noun) { return kept_objects().contains({verb.english, noun.english}); }
bool is_kept_pair(const Adjective& adjective, const Noun& noun) {
  return kept_descriptions().contains({adjective.english, noun.english});
}

std::optional<GrammarPart> part_of(const Sentence& sentence, std::string_view english) {
  if (is_shown(english)) return std::nullopt;
  PairCount count;
  count_pairs(sentence.statement, sentence.subject, count);
  if (sentence.second) {
    const bool again = sentence.second_subject.empty();
    count_pairs(*sentence.second, again ? sentence.subject : sentence.second_subject, count);
  }
  if (count.kept > 0) return count.open > 0 ? std::nullopt : std::optional(GrammarPart::kCompositions);
  constexpr uint64_t kOneInKept = 20;
  return hash_of(english) % kOneInKept == 0 ? GrammarPart::kOrdinary : GrammarPart::kTrain;
}

}  // namespace heed::data
