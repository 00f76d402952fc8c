// How BLEU cuts a line into words: the rules of sacrebleu's tokenizers, to the letter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::train {

enum class BleuTokens { k13a, kNone, kChar, kIntl, kZh };
BleuTokens bleu_tokens(const std::string& name);  // "13a", ...; an unknown name is an error with the nearest
const std::vector<std::string>& bleu_tokens_names();
const std::string& name_of(BleuTokens tokens);

// The line with a blank between words.
std::string bleu_tokenized(std::string_view line, BleuTokens tokens);

}  // namespace heed::train
