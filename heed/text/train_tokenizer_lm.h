// Tokenizers of language models, made from text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heed/text/tokenizer_files.h"
#include "heed/text/train_tokenizer.h"

namespace heed::text {

// GPT-2's byte pairs, SentencePiece's pairs as LLaMA has them, SentencePiece's unigram model, characters, bytes.
enum class LmTokenizerKind { kBpe, kSentencePiece, kUnigram, kChar, kByte };
LmTokenizerKind lm_tokenizer_kind(const std::string& name);  // an unknown name is an error with the nearest
const std::vector<std::string>& lm_tokenizer_kind_names();

struct LmTokenizerConfig {
  LmTokenizerKind kind = LmTokenizerKind::kBpe;
  TokenizerConfig pieces;  // its kind and layout follow from the kind above
  // For conversations: with heed's chat template, whose marks are ids of their own but for characters and bytes.
  bool chat = false;
};

struct TrainedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  NamedFiles files;  // for the model directory
};
// `texts` gives pieces of text, with their ends of lines. The same texts and config give the same bytes; what the text
// cannot fill is an error with the largest possible number.
TrainedTokenizer train_lm_tokenizer(const LmTokenizerConfig& config, const LineSource& texts);

}  // namespace heed::text
