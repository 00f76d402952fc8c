// A translator from text to text: a model directory in use.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heed/decode/stream.h"
#include "heed/models/encoder_decoder.h"
#include "heed/text/tokenizer.h"

namespace heed::tasks {

struct Translator {
  models::EncoderDecoder model;
  text::TokenizerPair tokenizers;

  static Translator open(const std::string& folder);
};
// Every id that they give is one of the model's; else an error that names its folder.
void check_tokenizers(const text::TokenizerPair& tokenizers, const models::ModelConfig& model,
                      const std::string& folder);
// A translator that someone else holds.
struct TranslatorView {
  const models::EncoderDecoder& model;
  const text::TokenizerPair& tokenizers;
  TranslatorView(const models::EncoderDecoder& m, const text::TokenizerPair& t) : model(m), tokenizers(t) {}
  TranslatorView(const Translator& t)
      : model(t.model), tokenizers(t.tokenizers) {}  // NOLINT(google-explicit-constructor)
};

enum class LongLines { kSplit, kRefuse };

struct TranslateConfig {
  decode::StreamConfig stream;
  int64_t samples = 1;  // drawn of each line, where the search samples
  // Tokens of a line with eos, fewer where the model's table of positions ends; a longer one is cut or refused. 0: as many
  // as it was trained with, 512 where that is not known.
  int64_t max_source = 0;
  LongLines long_lines = LongLines::kSplit;
  bool alignment = false;
};

// A word of the source and one of the translation, counted from 0.
using WordPair = std::pair<int64_t, int64_t>;

struct TranslatedLine {
  std::string text;
  std::vector<int32_t> ids;  // of a line by ids without the prefix
  double score = 0, log_probability = 0;
  bool ended = true;  // false: the longest allowed translation came first
  std::vector<WordPair> alignment;
  bool has_number() const;  // false: the model's numbers overflowed, and this is no translation
};
struct Translated {
  int64_t number = 0;                // of the line, from 0
  std::vector<TranslatedLine> best;  // never empty
};

// A line as people or programs give it: text, or ids without eos. The translation starts with the prefix.
struct SourceLine {
  std::string text, prefix;
  std::vector<int32_t> ids, prefix_ids;
  bool by_ids = false;
};

// next(line, wait) and give as in decode/stream.h: answers come in order while the rest is read. A line that is empty or
// blank has an empty translation.
void translate_text(const TranslatorView& translator, const TranslateConfig& config,
                    const std::function<decode::Input(SourceLine&, bool wait)>& next,
                    const std::function<void(Translated)>& give);
// All at once: the best translation of each line.
std::vector<std::string> translate(const TranslatorView& translator, const std::vector<std::string>& lines,
                                   const TranslateConfig& config = {});

// Pieces of at most `most` ids: at the ends of sentences where there are any, else between words, else between
// characters. Joined they are the whole.
std::vector<std::vector<int32_t>> split_source(const std::vector<int32_t>& ids, const text::Tokenizer& tokenizer,
                                               int64_t most);
// Of each word of the translation the source word that its pieces looked at most.
std::vector<WordPair> word_alignment(const Tensor& weights, const std::vector<int32_t>& source,
                                     const text::Tokenizer& source_pieces, const std::vector<int32_t>& target,
                                     const text::Tokenizer& target_pieces);

}  // namespace heed::tasks
