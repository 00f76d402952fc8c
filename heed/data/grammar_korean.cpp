#include "heed/data/grammar_sentence.h"

namespace heed::data {
namespace {

Politeness politeness_of(const Sentence& sentence) {
  return sentence.politeness_word.empty() ? Politeness::kPlain : Politeness::kPolite;
}

std::string_view adjective_before_noun(const Adjective& adjective, std::string& storage) {
  if (!adjective.predicative()) return adjective.before_noun;
  return storage = attributive(adjective.korean);
}

// Without its particle: 내 큰 고양이, 빨간 책 두 권.
std::string wording(const Phrase& phrase, Politeness politeness) {
  const bool polite = politeness == Politeness::kPolite;
  if (phrase.pronoun) return std::string(polite ? phrase.pronoun->polite : phrase.pronoun->korean);
  std::string text, storage;
  if (phrase.determiner == Determiner::kOwner) (text += polite ? phrase.owner->polite : phrase.owner->korean) += ' ';
  if (phrase.determiner == Determiner::kOwnerNoun) (text += phrase.owner_noun->korean) += "의 ";
  if (phrase.adjective) (text += adjective_before_noun(*phrase.adjective, storage)) += ' ';
  text += phrase.noun->korean;
  if (phrase.determiner == Determiner::kNumber) {
    ((text += ' ') += number_words()[static_cast<size_t>(phrase.number - 1)].korean) += ' ';
    text += phrase.noun->counter;
  } else if (phrase.plural && phrase.noun->is(kPerson | kAnimal)) {
    text += "들";  // things are rarely marked as many
  }
  return text;
}

using Particle = std::string (*)(std::string_view);

std::string wording(const Phrases& phrases, Politeness politeness, Particle particle) {
  if (phrases.size() == 1) return particle(wording(phrases[0], politeness));
  return with(wording(phrases[0], politeness)) + " " + particle(wording(phrases[1], politeness));
}

std::string to_somebody(std::string_view noun) { return std::string(noun) + "에게"; }

// Whoever does something takes 이/가. What a sentence says something about takes 은/는: pronouns, what is or is not so.
std::string subject_of(const Phrases& subjects, const Statement& statement, const Sentence& sentence) {
  const bool is_topic = subjects[0].pronoun || sentence.negative || !statement.verb;
  return wording(subjects, politeness_of(sentence), is_topic ? Particle{topic} : Particle{subject});
}

std::string complements_of(const Statement& statement, Politeness politeness) {
  std::string text;
  if (!statement.recipient.empty()) text += wording(statement.recipient, politeness, to_somebody) + " ";
  if (!statement.object.empty()) text += wording(statement.object, politeness, object) + " ";
  if (statement.goal) (text += statement.goal->korean) += "에 ";
  return text;
}

const Predicate& predicate_of(const Statement& statement) {
  return statement.verb ? statement.verb->korean : statement.adjective->korean;
}

std::string ending_of(const Statement& statement, const Sentence& sentence) {
  const Politeness politeness = politeness_of(sentence);
  if (statement.job) {
    Phrase job;
    job.noun = statement.job;
    job.adjective = statement.job_adjective;
    const std::string what = wording(job, politeness);
    return sentence.negative ? negative_copula(what, sentence.tense, politeness)
                             : copula(what, sentence.tense, politeness);
  }
  const Predicate& word = predicate_of(statement);
  if (sentence.negative && statement.verb && statement.verb->by_ability)
    return unable(word, sentence.tense, politeness);
  return sentence.negative ? negative(word, sentence.tense, politeness) : finite(word, sentence.tense, politeness);
}

}  // namespace

std::string in_korean(const Sentence& sentence) {
  const Politeness politeness = politeness_of(sentence);
  std::string text = subject_of(sentence.subject, sentence.statement, sentence) + " ";
  if (sentence.time) (text += sentence.time->korean) += ' ';
  if (sentence.place) ((text += sentence.place->korean) += sentence.statement.verb->at) += ' ';
  text += complements_of(sentence.statement, politeness);
  if (!sentence.second) return text + ending_of(sentence.statement, sentence);
  // Only the last verb says tense and politeness.
  text += connective(predicate_of(sentence.statement)) + " ";
  if (!sentence.second_subject.empty()) {
    text += subject_of(sentence.second_subject, *sentence.second, sentence) + " ";
  }
  return text + complements_of(*sentence.second, politeness) + ending_of(*sentence.second, sentence);
}

}  // namespace heed::data
