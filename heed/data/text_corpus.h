// Documents from text files, plain or gzip: each file is one, or each of its lines, or each paragraph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/parallel_corpus.h"

namespace heed::data {

// Files as they are; of a folder all files in it and below, by name, but for hidden ones. A name that does not exist and a
// folder without files are errors.
std::vector<std::string> files_under(const std::vector<std::string>& paths);

enum class Documents { kFile, kLine, kParagraph };  // paragraphs: blank lines between them

// Which part of the text: all of it, or what is left when a share is held out, or that share.
struct TextPart {
  enum Kind { kAll, kTrain, kValid } kind = kAll;
  double share = 0;       // that is held out
  bool random = false;    // whole documents, drawn by the seed; else the end of the text
  int64_t all_bytes = 0;  // of the whole text, as report() counts them: where the end begins
  uint64_t seed = 1;

  bool held_out(int64_t document) const;  // by the draw
};

struct TextConfig {
  std::vector<std::string> files;
  Documents documents = Documents::kFile;
  BadLines bad = BadLines::kSkip;
  TextPart part = {};
  int64_t piece_bytes = 1 << 20;  // a longer file comes in pieces
  // Where those may be cut (text::Tokenizer::cuts); where nothing in a piece may be, it grows, until it is cut near a blank
  // all the same. Without it always near blanks.
  std::function<bool(std::string_view text, size_t at)> may_cut = {};
  int64_t most_bytes = 1 << 24;
  int64_t max_bytes = int64_t{1} << 26;  // of a line or paragraph: what is longer is no document
};

struct TextReport {
  int64_t documents = 0, bytes = 0;        // read and good; of the part that was asked for
  BadLineCount empty, too_long, not_utf8;  // left out; a NUL is not text
  std::string text() const;                // "3 documents of 1,115,394 bytes; skipped 1 not UTF-8 (a.bin:1)"
};

// A document, or some of it.
struct TextPiece {
  std::string text;
  bool begins = true, ends = true;  // its document
  std::string place;                // where its document begins: "novel.txt:1"
};

class TextCorpus {
 public:
  explicit TextCorpus(TextConfig config);
  ~TextCorpus();
  // With BadLines::kRefuse a bad document is an error that names its place.
  bool next(TextPiece& piece);
  const TextReport& report() const;
  double progress() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::data
