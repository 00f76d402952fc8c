// How published byte-level tokenizers cut text into words before byte pairs are merged; no merge crosses a cut.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace heed::text {

enum class WordRule {
  kGpt2,          // gpt2_words.h
  kSingleDigits,  // every number alone, the text between them as GPT-2
  kLlama3,        // its own pattern: punctuation goes with the word behind it, numbers by threes
  kQwen2,         // the same with single digits
};
// The rule of a pattern as tokenizer.json spells it; nothing where heed does not know it.
std::optional<WordRule> word_rule(std::string_view pattern);
// UTF-8 in; the words cover it whole.
std::vector<std::string_view> split_words(std::string_view text, WordRule rule);

}  // namespace heed::text
