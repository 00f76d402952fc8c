// What the demo shows of its translator once it is trained.
#pragma once

#include <cstdint>
#include <string>

#include "heed/tasks/translator.h"

namespace heed::cli {

struct DemoResult {
  double exact_match = 0, exact_match_compositions = 0;  // shares of `sentences` each
  double seconds = 0;                                    // of training
  int64_t tokens = 0, steps = 0, sentences = 0;
  uint64_t seed = 1;
};
// One JSON object, with its tokens a second.
std::string json_text(const DemoResult& result);

// Typical and tricky sentences with what the model makes of them, and why they are hard.
std::string tricky_text(const tasks::Translator& translator);
// The cross-attention of one sentence: rows are Korean pieces, columns English ones.
std::string attention_text(const tasks::Translator& translator, const std::string& english);
// Sentences from standard input until an empty line.
void talk(const tasks::Translator& translator);

}  // namespace heed::cli
