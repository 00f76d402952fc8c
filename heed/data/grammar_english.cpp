#include "heed/data/english.h"
#include "heed/data/grammar_sentence.h"

namespace heed::data {
namespace {

// Words with blanks between them.
class Words {
 public:
  void add(std::string_view words) {
    if (words.empty()) return;
    if (!text_.empty()) text_ += ' ';
    text_ += words;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

bool is_plural(const Phrase& phrase) {
  return phrase.plural || (phrase.determiner == Determiner::kNumber && phrase.number > 1);
}

void add_determiner(const Phrase& phrase, std::string_view next, Words& words) {
  switch (phrase.determiner) {
    case Determiner::kThe:
      words.add("the");
      break;
    case Determiner::kA:
      words.add(article(next));
      break;
    case Determiner::kOwner:
      words.add(phrase.owner->english);
      break;
    case Determiner::kOwnerNoun:
      words.add("the");
      words.add(std::string(phrase.owner_noun->english) + "'s");
      break;
    case Determiner::kNumber:
      words.add(number_words()[static_cast<size_t>(phrase.number - 1)].english);
      break;
    case Determiner::kNone:
      break;
  }
}

void add_phrase(const Phrase& phrase, Words& words) {
  if (phrase.pronoun) {
    words.add(phrase.pronoun->english);
    return;
  }
  const Noun& noun = *phrase.noun;
  add_determiner(phrase, phrase.adjective ? phrase.adjective->english : noun.english, words);
  // "two cups of hot coffee"
  if (noun.mass() && phrase.determiner == Determiner::kNumber) {
    words.add(phrase.number > 1 ? regular_plural(noun.measure) : noun.measure);
    words.add("of");
  }
  if (phrase.adjective) words.add(phrase.adjective->english);
  words.add(is_plural(phrase) && !noun.mass() ? plural_of(noun) : noun.english);
}

void add_phrases(const Phrases& phrases, Words& words) {
  for (size_t i = 0; i < phrases.size(); ++i) {
    if (i > 0) words.add("and");
    add_phrase(phrases[i], words);
  }
}

bool is_third_singular(const Phrases& subject) {
  if (subject.size() > 1) return false;
  return subject[0].pronoun ? subject[0].pronoun->third_singular : !is_plural(subject[0]);
}

bool is_i(const Phrases& subject) { return subject[0].pronoun && subject[0].pronoun->english == "i"; }

std::string_view form_of_be(const Phrases& subject, Tense tense) {
  if (tense == Tense::kFuture) return "be";
  if (tense == Tense::kPast) return is_i(subject) || is_third_singular(subject) ? "was" : "were";
  return is_i(subject) ? "am" : is_third_singular(subject) ? "is" : "are";
}

// `again`: the second statement about one subject, which repeats neither "will" nor "is".
void add_predicate(const Statement& statement, const Phrases& subject, const Sentence& sentence, bool again,
                   Words& words) {
  const Tense tense = sentence.tense;
  const bool singular = is_third_singular(subject);
  if (tense == Tense::kFuture && !again) {
    words.add("will");
    if (sentence.negative) words.add("not");
  }
  if (!statement.verb) {
    if (again) return;
    words.add(form_of_be(subject, tense));
    if (sentence.negative && tense != Tense::kFuture) words.add("not");
    return;
  }
  const Verb& verb = *statement.verb;
  if (tense == Tense::kFuture) {
    words.add(verb.english);
  } else if (sentence.negative) {
    words.add(tense == Tense::kPast ? "did" : singular ? "does" : "do");
    words.add("not");
    words.add(verb.english);
  } else {
    words.add(tense == Tense::kPast ? std::string(verb.past)
              : singular            ? third_person(verb.english)
                                    : std::string(verb.english));
  }
  words.add(verb.preposition);
}

void add_job(const Statement& statement, const Phrases& subject, Words& words) {
  const std::string_view adjective = statement.job_adjective ? statement.job_adjective->english : "";
  const bool one = is_i(subject) || is_third_singular(subject);
  if (one) words.add(article(adjective.empty() ? statement.job->english : adjective));
  words.add(adjective);
  words.add(one ? statement.job->english : plural_of(*statement.job));
}

void add_complements(const Statement& statement, const Phrases& subject, Words& words) {
  if (!statement.recipient_after_to) add_phrases(statement.recipient, words);
  add_phrases(statement.object, words);
  if (statement.recipient_after_to) {
    words.add("to");
    add_phrases(statement.recipient, words);
  }
  if (statement.goal) words.add(statement.goal->to);
  if (statement.adjective) words.add(statement.adjective->english);
  if (statement.job) add_job(statement, subject, words);
}

bool hides_tense(const Statement& statement, const Phrases& subject) {
  return statement.verb && statement.verb->english == statement.verb->past && !is_third_singular(subject);
}

}  // namespace

std::string plural_of(const Noun& noun) {
  return noun.plural.empty() ? regular_plural(noun.english) : std::string(noun.plural);
}

bool tense_is_plain(const Sentence& sentence) {
  return sentence.tense != Tense::kPresent || sentence.negative || !hides_tense(sentence.statement, sentence.subject);
}

std::string in_english(const Sentence& sentence) {
  Words words;
  add_phrases(sentence.subject, words);
  add_predicate(sentence.statement, sentence.subject, sentence, false, words);
  add_complements(sentence.statement, sentence.subject, words);
  if (sentence.second) {
    words.add("and");
    const bool again = sentence.second_subject.empty();
    const Phrases& subject = again ? sentence.subject : sentence.second_subject;
    add_phrases(sentence.second_subject, words);
    add_predicate(*sentence.second, subject, sentence, again, words);
    add_complements(*sentence.second, subject, words);
  }
  if (sentence.place) words.add(sentence.place->at);
  if (sentence.time) words.add(sentence.time->english);
  words.add(sentence.politeness_word);
  return words.take();
}

}  // namespace heed::data
