// Tokenised documents in one memory-mapped file (sequence_file.h): each with eos behind it. Conversations are documents too,
// as their template ends them; ids that are only read, never predicted, are stored as their complement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "heed/data/chat_lines.h"
#include "heed/data/sequence_file.h"
#include "heed/data/text_corpus.h"
#include "heed/text/tokenizer.h"

namespace heed::data {

// Below 0, so that it is no label: losses ignore those.
constexpr int32_t only_read(int32_t id) { return ~id; }
constexpr int32_t id_of(int32_t stored) { return stored < 0 ? ~stored : stored; }

class TextStore {
 public:
  static TextStore open(const std::string& path) { return TextStore(SequenceFile::open(path, kTextSequences)); }
  // As SequenceFile::parse.
  static TextStore parse(std::span<const std::byte> file, const std::string& label) {
    return TextStore(SequenceFile::parse(file, label, kTextSequences));
  }
  TextStore() = default;

  int64_t documents() const { return file_.entries(); }
  int64_t tokens() const { return file_.first(); }
  int64_t bytes() const { return file_.second(); }  // of the text, of conversations that of the answers
  // All documents one after the other, as they are stored.
  std::span<const int32_t> ids() const { return file_.ids(); }
  // Where each begins, in ids, and the end of the last.
  std::span<const uint64_t> borders() const { return file_.offsets(); }
  uint64_t fingerprint() const { return file_.fingerprint(); }
  bool intact() const { return file_.intact(); }

 private:
  explicit TextStore(SequenceFile file) : file_(std::move(file)) {}
  SequenceFile file_;
};

struct TextStoreReport {
  BadLineCount no_tokens;  // a document whose text is nothing to the tokenizer
  int64_t unknown = 0;     // tokens
};
// Tokenises in parallel, pieces where the corpus cuts documents, in the order of the corpus, and writes the file atomically.
TextStoreReport build_text_store(const std::string& path, TextCorpus& corpus, const text::Tokenizer& tokenizer,
                                 const std::function<void(double share)>& progress = {});

// How conversations become ids. `start`, where they all begin with it, is not stored: a batch puts it before each.
struct ChatFormat {
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat;
  int32_t start = -1;
};
// The lines of the corpus are conversations; those that are none, or that the template refuses, are `bad`.
TextStoreReport build_chat_store(const std::string& path, TextCorpus& corpus, const ChatFormat& format,
                                 BadChatLines& bad, const std::function<void(double share)>& progress = {});

}  // namespace heed::data
