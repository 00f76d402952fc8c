// Tokenizers made from the lines of a corpus.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed::text {

enum class TokenizerKind { kBpe, kUnigram, kWord, kChar, kByte };
TokenizerKind tokenizer_kind(const std::string& name);  // "bpe", ...; an unknown name is an error with the nearest
const std::vector<std::string>& tokenizer_kind_names();
const std::vector<std::string>& normalization_names();  // of SentencePiece's rules

struct TokenizerConfig {
  TokenizerKind kind = TokenizerKind::kBpe;
  int64_t vocabulary = 0;                  // with the special ids; word and char may end below it, byte has its own
  int64_t most_by_text = 8000;             // with vocabulary 0 the text decides: a piece for 400 bytes, up to this
  bool joint = true;                       // one vocabulary for both sides
  std::string normalization = "identity";  // one of normalization_names()
  double character_coverage = 1.0;
  int64_t max_lines = 2'000'000;  // a larger corpus is sampled evenly
  uint64_t seed = 1;
  // Which ids stand for no text: eos, unk and pad as Marian has them, or unk, bos and eos as LLaMA. A tokenizer of the
  // latter kind keeps every blank, and takes numbers apart into digits.
  enum class Layout { kMarian, kLlama } layout = Layout::kMarian;
};

// Gives the next line, or false at the end.
using LineSource = std::function<bool(std::string& line)>;

// SentencePiece's model from these lines; `side` names them in messages.
std::string train_spm(TokenizerConfig config, const std::vector<std::string>& lines, const std::string& side);
// A size that a text of so many bytes fills, and that leaves its pieces enough to be learned from.
int64_t vocabulary_by_text(const TokenizerConfig& config, int64_t bytes);

// What the lines cannot fill ("vocabulary larger than the data allows") is an error with the largest possible number.
// The same lines and config give the same bytes.
struct TrainedTokenizers {
  TokenizerPair pair;
  std::vector<std::pair<std::string, std::string>> files;  // names and contents, for the model directory
};
TrainedTokenizers train_tokenizers(const TokenizerConfig& config, const LineSource& source, const LineSource& target);

}  // namespace heed::text
