#include "heed/data/text_store.h"

#include <vector>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/text/chat_ids.h"

namespace heed::data {
namespace {

// A chunk is read, tokenised on all threads and written before the next one: memory does not grow with the corpus.
constexpr size_t kChunkPieces = 8192;
constexpr size_t kChunkBytes = 8 << 20;
constexpr int64_t kPiecesAtOnce = 16;

struct PieceInWork {
  TextPiece piece;
  std::vector<int32_t> ids;
  size_t bytes = 0;             // of the text that they stand for
  std::string problem, detail;  // why there are none
};

bool read_chunk(TextCorpus& corpus, std::vector<PieceInWork>& chunk) {
  chunk.clear();
  size_t bytes = 0;
  for (PieceInWork one; chunk.size() < kChunkPieces && bytes < kChunkBytes && corpus.next(one.piece);) {
    bytes += one.piece.text.size();
    chunk.push_back(one);
  }
  return !chunk.empty();
}

// What to do with the pieces of a store: each becomes ids, on any thread; in order, those of a document get an end, and
// what is no document is told.
struct Way {
  std::function<void(PieceInWork&)> encode;
  int32_t end = -1;  // the id behind a document; -1: none
  std::function<void(const PieceInWork&)> refuse = {};
};

TextStoreReport build(const std::string& path, TextCorpus& corpus, const Way& way, int32_t unknown,
                      const std::function<void(double share)>& progress) {
  TextStoreReport report;
  SequenceWriter file(path, kTextSequences);
  uint64_t bytes = 0, of_document = 0;
  std::vector<PieceInWork> chunk;
  while (read_chunk(corpus, chunk)) {
    // Lines are many and short, pieces of files few and long.
    const bool long_ones = chunk.size() < 4 * kPiecesAtOnce;
    parallel_for(static_cast<int64_t>(chunk.size()), long_ones ? 1 : kPiecesAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) way.encode(chunk[static_cast<size_t>(i)]);
    });
    for (const PieceInWork& one : chunk) {
      if (!one.problem.empty()) {
        way.refuse(one);
        continue;
      }
      file.append(one.ids);
      report.unknown += std::count_if(one.ids.begin(), one.ids.end(), [&](int32_t id) { return id_of(id) == unknown; });
      of_document += one.ids.size();
      bytes += one.bytes;
      if (!one.piece.ends) continue;
      if (of_document == 0) {
        count_bad_line(report.no_tokens, one.piece.place);
      } else {
        if (way.end >= 0) file.append(std::span(&way.end, 1));
        file.end_sequence();
      }
      of_document = 0;
    }
    if (progress) progress(corpus.progress());
  }
  file.finish(bytes);
  return report;
}

// An id that also ends texts, as GPT-2's does, stands for nothing unknown.
int32_t unknown_of(const text::SpecialIds& special) { return special.unk == special.eos ? -1 : special.unk; }

void encode_chat(const ChatFormat& format, PieceInWork& one) {
  const ChatLine line = read_chat_line(one.piece.text);
  one.problem = line.problem, one.detail = line.detail;
  if (!one.problem.empty()) return;
  try {
    const text::ChatIds made = text::chat_ids(format.tokenizer, format.chat, line.messages);
    for (size_t i = 0; i < made.ids.size(); ++i)
      one.ids.push_back(made.answers[i] ? made.ids[i] : only_read(made.ids[i]));
    if (format.start >= 0 && !one.ids.empty() && one.ids[0] == only_read(format.start)) one.ids.erase(one.ids.begin());
    one.bytes = static_cast<size_t>(made.answer_bytes);
    if (std::none_of(one.ids.begin(), one.ids.end(), [](int32_t id) { return id >= 0; }))
      one.problem = "without an answer", one.detail = "the template writes none";
  } catch (const FileError& error) {
    // What is too long says so itself: nothing is wrong with the template then.
    one.detail = error.what();
    one.problem = one.detail.starts_with("[chat]") ? "too long to find its answers" : "refused by the template";
  }
}

}  // namespace

TextStoreReport build_text_store(const std::string& path, TextCorpus& corpus, const text::Tokenizer& tokenizer,
                                 const std::function<void(double share)>& progress) {
  const text::SpecialIds special = tokenizer.special();
  if (special.eos < 0) fail("[store] the tokenizer has no id for the end of a document, expected one");
  const auto encode = [&](PieceInWork& one) {
    one.ids = one.piece.begins ? tokenizer.encode(one.piece.text) : tokenizer.encode_on(one.piece.text);
    one.bytes = one.piece.text.size();
  };
  return build(path, corpus, {encode, special.eos}, unknown_of(special), progress);
}

TextStoreReport build_chat_store(const std::string& path, TextCorpus& corpus, const ChatFormat& format,
                                 BadChatLines& bad, const std::function<void(double share)>& progress) {
  const Way way{[&](PieceInWork& one) { encode_chat(format, one); }, -1,
                [&](const PieceInWork& one) { bad.add(one.piece.place, one.problem, one.detail); }};
  return build(path, corpus, way, unknown_of(format.tokenizer.special()), progress);
}

}  // namespace heed::data
