#include "heed/data/grammar_sample.h"

#include <algorithm>
#include <map>

namespace heed::data {
namespace {

// What each word goes with, found once.
struct Choices {
  std::map<const Verb*, std::vector<const Noun*>> subjects, objects;
  std::map<const Noun*, std::vector<const Verb*>> taken_by;         // verbs, as an object
  std::map<const Noun*, std::vector<const Adjective*>> adjectives;  // that may stand before it
  std::map<const Adjective*, std::vector<const Noun*>> described;   // by a predicative adjective
  std::vector<const Noun*> people, jobs;
  std::vector<const Verb*> with_object, without_object;
};

Choices find_choices() {
  Choices all;
  for (const auto list : {verbs(), giving_verbs(), moving_verbs()}) {
    for (const Verb& verb : list) {
      for (const Noun& noun : nouns()) {
        if (can_do(verb, noun)) all.subjects[&verb].push_back(&noun);
        if (takes(verb, noun)) all.objects[&verb].push_back(&noun);
      }
    }
  }
  for (const Verb& verb : verbs()) {
    for (const Noun* noun : all.objects[&verb]) all.taken_by[noun].push_back(&verb);
    (verb.objects ? all.with_object : all.without_object).push_back(&verb);
  }
  for (const Noun& noun : nouns()) {
    if (noun.is(kPerson)) all.people.push_back(&noun);
    if (noun.is(kJob)) all.jobs.push_back(&noun);
    for (const Adjective& adjective : adjectives()) {
      if (!fits(adjective, noun)) continue;
      if (!noun.is(kStudy)) all.adjectives[&noun].push_back(&adjective);
      if (adjective.predicative()) all.described[&adjective].push_back(&noun);
    }
  }
  return all;
}

const Choices& choices() {
  static const Choices all = find_choices();
  return all;
}

class Sampler {
  bool chance(uint64_t percent) { return random_.below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list[random_.below(std::size(list))];
  }

 public:
  explicit Sampler(Random& random) : random_(random) {}

  Sentence sentence() {
    Sentence result;
    result.tense = static_cast<Tense>(random_.below(3));
    result.negative = chance(18);
    if (chance(45)) result.politeness_word = pick(politeness_words());
    const uint64_t shape = random_.below(100);
    if (shape < 45) {
      acting_on_something(result);
    } else if (shape < 55) {
      acting(result, *pick(choices().without_object));
    } else if (shape < 61) {
      acting(result, pick(moving_verbs()));
    } else if (shape < 69) {
      acting(result, pick(giving_verbs()));
    } else if (shape < 81) {
      being(result);
    } else if (shape < 86) {
      having_a_job(result);
    } else {
      two_statements(result);
    }
    return result;
  }

 private:
  void set_number_or_owner(Phrase& phrase) {
    const Noun& noun = *phrase.noun;
    const bool counted = !noun.mass() || !noun.measure.empty();
    const bool owned = !noun.is(kPerson) || noun.is(kRelated);
    const uint64_t way = random_.below(100);
    const bool measured = noun.mass() && counted && chance(25);  // "a bowl of" is rare otherwise
    if (measured || (way < 20 && counted)) {
      phrase.determiner = Determiner::kNumber;
      phrase.number = chance(15) ? 1 : 1 + static_cast<int>(random_.below(number_words().size()));
    } else if (way < 32 && owned) {
      phrase.determiner = Determiner::kOwner;
      phrase.owner = &pick(owners());
    } else if (way < 42 && owned) {
      phrase.determiner = Determiner::kOwnerNoun;
      phrase.owner_noun = pick(choices().people);
    } else if (way < 75 || noun.mass()) {
      phrase.determiner = way < 75 ? Determiner::kThe : Determiner::kNone;
    } else {
      phrase.determiner = Determiner::kA;
    }
  }

  Phrase phrase(const Noun& noun, uint64_t adjective_percent) {
    Phrase result;
    result.noun = &noun;
    if (noun.is(kStudy)) {
      result.determiner = Determiner::kNone;
      return result;
    }
    set_number_or_owner(result);
    // "the fish" would be one or many.
    const bool may_be_many = result.determiner == Determiner::kThe || result.determiner == Determiner::kOwner;
    result.plural = may_be_many && !noun.mass() && plural_of(noun) != noun.english && chance(20);
    const auto fitting = choices().adjectives.find(&noun);
    if (fitting != choices().adjectives.end() && chance(adjective_percent)) result.adjective = pick(fitting->second);
    return result;
  }

  // "a" is for what is new in the story: not for what is described, or did nothing.
  static void make_known(Phrases& phrases) {
    for (Phrase& each : phrases) {
      if (each.determiner == Determiner::kA) each.determiner = Determiner::kThe;
    }
  }

  Phrases doer(const Verb& verb) {
    if ((verb.subjects & kPerson) && chance(25)) {
      Phrase pronoun;
      pronoun.pronoun = &pick(pronouns());
      return {pronoun};
    }
    const auto& fitting = choices().subjects.at(&verb);
    Phrases result{phrase(*pick(fitting), 20)};
    if (chance(8)) result.push_back(phrase(*pick(fitting), 0));
    return result;
  }

  Statement statement(const Verb& verb, uint64_t adjective_percent) {
    Statement result;
    result.verb = &verb;
    if (verb.objects) {
      const auto& fitting = choices().objects.at(&verb);
      result.object = {phrase(*pick(fitting), adjective_percent)};
      if (adjective_percent > 0 && chance(8)) result.object.push_back(phrase(*pick(fitting), 0));
    }
    return result;
  }

  void add_circumstances(Sentence& result) {
    if (chance(25)) {
      const TimeWord& time = pick(time_words());
      const bool fits_tense = result.tense == Tense::kPast      ? time.past
                              : result.tense == Tense::kPresent ? time.present
                                                                : time.future;
      if (fits_tense) result.time = &time;
    }
    if (result.statement.verb->somewhere && !result.statement.goal && result.statement.recipient.empty() &&
        chance(15)) {
      result.place = &pick(places());
    }
  }

  // Half by the verb and half by the object: neither common verbs nor rare things are left behind.
  void acting_on_something(Sentence& result) {
    if (chance(50)) {
      acting(result, *pick(choices().with_object));
      return;
    }
    const Noun* object = &pick(nouns());
    acting(result, *pick(choices().taken_by.at(object)), object);
  }

  void acting(Sentence& result, const Verb& verb, const Noun* on = nullptr) {
    result.subject = doer(verb);
    if (result.negative) make_known(result.subject);
    result.statement = statement(verb, 35);
    if (on) result.statement.object[0] = phrase(*on, 35);
    if (&verb >= giving_verbs().data() && &verb < giving_verbs().data() + giving_verbs().size()) {
      result.statement.recipient = {phrase(*pick(choices().people), 10)};
      result.statement.recipient_after_to = chance(50);
    }
    if (&verb >= moving_verbs().data() && &verb < moving_verbs().data() + moving_verbs().size()) {
      result.statement.goal = &pick(places());
    }
    add_circumstances(result);
  }

  Statement description(const Adjective& adjective) {
    Statement result;
    result.adjective = &adjective;
    return result;
  }

  void being(Sentence& result) {
    const auto all = adjectives();
    const Adjective* adjective = &pick(all);
    while (!adjective->predicative()) adjective = &pick(all);
    result.statement = description(*adjective);
    if ((adjective->nouns & kPerson) && chance(25)) {
      Phrase pronoun;
      pronoun.pronoun = &pick(pronouns());
      result.subject = {pronoun};
      return;
    }
    result.subject = {phrase(*pick(choices().described.at(adjective)), 0)};
    make_known(result.subject);
  }

  void having_a_job(Sentence& result) {
    result.statement.job = pick(choices().jobs);
    if (chance(60)) result.statement.job_adjective = pick(choices().adjectives.at(result.statement.job));
    Phrase who;
    if (chance(50)) {
      who.pronoun = &pick(pronouns());
    } else {
      do {
        who = phrase(*pick(choices().people), 20);
      } while (who.noun->is(kJob));
    }
    result.subject = {who};
    make_known(result.subject);
  }

  void two_statements(Sentence& result) {
    result.negative = false;
    if (chance(15)) {
      being(result);
      if (result.subject[0].pronoun) return;
      std::vector<const Adjective*> fitting;
      for (const Adjective& other : adjectives()) {
        const bool another = other.predicative() && may_join(other, *result.statement.adjective);
        if (another && fits(other, *result.subject[0].noun)) fitting.push_back(&other);
      }
      if (!fitting.empty()) result.second = description(*pick(fitting));
      return;
    }
    const auto& list = chance(75) ? choices().with_object : choices().without_object;
    const Verb& verb = *pick(list);
    result.subject = doer(verb);
    result.statement = statement(verb, 0);
    const Verb& other = *pick(choices().with_object);
    result.second = statement(other, 0);
    // One subject for both only where it can do both.
    const bool shared = std::all_of(result.subject.begin(), result.subject.end(), [&](const Phrase& who) {
      return who.pronoun ? (other.subjects & kPerson) != 0 : can_do(other, *who.noun);
    });
    if (!shared || chance(40)) result.second_subject = doer(other);
  }

  Random& random_;
};

// The same noun twice in a statement ("a fish bit the fish"), or "he ... and he ...".
bool repeats_itself(const Sentence& sentence) {
  const auto repeats = [](const Phrases& subject, const Statement& statement) {
    std::vector<const Noun*> named;
    for (const Phrases* phrases : {&subject, &statement.object, &statement.recipient}) {
      for (const Phrase& phrase : *phrases) {
        if (phrase.noun) named.push_back(phrase.noun);
        if (phrase.owner_noun) named.push_back(phrase.owner_noun);
      }
    }
    std::sort(named.begin(), named.end());
    return std::adjacent_find(named.begin(), named.end()) != named.end();
  };
  if (repeats(sentence.subject, sentence.statement)) return true;
  if (!sentence.second) return false;
  const Phrases& second = sentence.second_subject;
  const Pronoun* again = second.empty() ? nullptr : second[0].pronoun;
  if (again && again == sentence.subject[0].pronoun) return true;
  return repeats(second.empty() ? sentence.subject : second, *sentence.second);
}

}  // namespace

bool may_join(const Adjective& a, const Adjective& b) {
  return &a != &b && (a.scale == Scale::kNone || a.scale != b.scale);
}
bool takes(const Verb& verb, const Noun& object) { return object.is(verb.objects); }
bool fits(const Adjective& adjective, const Noun& noun) { return noun.is(adjective.nouns); }
bool can_do(const Verb& verb, const Noun& subject) {
  return subject.is(kPerson | kAnimal) && subject.is(verb.subjects);
}

Sentence random_sentence(Random& random) {
  for (;;) {
    Sentence sentence = Sampler(random).sentence();
    if (tense_is_plain(sentence) && !repeats_itself(sentence)) return sentence;
  }
}

}  // namespace heed::data
