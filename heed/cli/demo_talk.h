// What the demo shows of its translator once it is trained.
#pragma once

#include <string>

#include "heed/tasks/translator.h"

namespace heed::cli {

// Typical and tricky sentences with what the model makes of them, and why they are hard.
std::string tricky_text(const tasks::Translator& translator);
// The cross-attention of one sentence: rows are Korean pieces, columns English ones.
std::string attention_text(const tasks::Translator& translator, const std::string& english);
// Sentences from standard input until an empty line.
void talk(const tasks::Translator& translator);

}  // namespace heed::cli
