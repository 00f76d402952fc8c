// Byte-pair encoding as published language models have it: GPT-2's over bytes, LLaMA's over characters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/text/tokenizer.h"
#include "heed/text/word_rules.h"

namespace heed::text {

// A text that stands for one id wherever it appears, before anything is cut or merged: "<|endoftext|>".
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = false;  // stands for no text: leaves no trace when ids are decoded
  // Only behind a blank, which goes with it, or at the start; what follows goes on as if no token were there. LLaMA's
  // first files say so by "normalized": such a token is looked for in text that has its "▁" already.
  bool behind_blank = false;
};

struct BpeParts {
  enum class Alphabet {
    kBytes,       // GPT-2: words by a pattern, bytes as the letters of its own alphabet ("Ġthe" is " the")
    kCharacters,  // LLaMA: "▁" for blanks, characters that are no piece as bytes "<0x0A>"
  } alphabet = Alphabet::kBytes;
  std::vector<std::string> pieces;                          // by id, as the files write them
  std::vector<std::pair<std::string, std::string>> merges;  // the strongest first
  std::vector<AddedToken> added;
  WordRule words = WordRule::kGpt2;  // of bytes
  bool compose = false;              // bytes: the text as NFC first
  bool whole_words = false;          // bytes: a word that is a piece is that piece, whatever the merges say
  bool blank_before_text = false;    // a text starts as if a blank stood before it
  bool unless_blank = true;          // ... unless one does
  bool blank_after_added = true;     // ... and so does what follows an added token
  // How characters become text again. Blanks at its start go: so many at most, or all that its first piece has; without
  // either the one that was put there.
  struct Decoding {
    bool bytes = true;  // "<0x0A>" is a byte; else it is what it looks like
    std::optional<int64_t> blanks = {};
    bool first_piece = false;
  } decoding = {};
  SpecialIds special = {-1, -1, -1};
};

// Merges of what is no piece, added tokens without an id and the like are errors that begin with `label`.
std::shared_ptr<const Tokenizer> bpe_tokenizer(BpeParts parts, const std::string& label);

}  // namespace heed::text
