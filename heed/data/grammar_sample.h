// Sentences of the built-in example at random, and which of them are kept from training.
#pragma once

#include <optional>
#include <string_view>

#include "heed/base/random.h"
#include "heed/data/grammar.h"
#include "heed/data/grammar_sentence.h"

namespace heed::data {

Sentence random_sentence(Random& random);

bool takes(const Verb& verb, const Noun& object);
bool fits(const Adjective& adjective, const Noun& noun);
bool may_join(const Adjective& a, const Adjective& b);  // "big and fast", not "fast and slow"
bool can_do(const Verb& verb, const Noun& subject);

// Whether a verb with an object, or an adjective with a noun, is kept for GrammarPart::kCompositions.
bool is_kept_pair(const Verb& verb, const Noun& object);
bool is_kept_pair(const Adjective& adjective, const Noun& noun);

// Where a sentence belongs: to one part, or to none (some of its pairs kept and some not; or shown as tricky).
std::optional<GrammarPart> part_of(const Sentence& sentence, std::string_view english);

}  // namespace heed::data
