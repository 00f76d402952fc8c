#include "heed/data/text_store.h"

#include <vector>

#include "heed/base/error.h"
#include "heed/base/threads.h"

namespace heed::data {
namespace {

// A chunk is read, tokenised on all threads and written before the next one: memory does not grow with the corpus.
constexpr size_t kChunkPieces = 8192;
constexpr size_t kChunkBytes = 8 << 20;
constexpr int64_t kPiecesAtOnce = 16;

struct PieceInWork {
  TextPiece piece;
  std::vector<int32_t> ids;
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

}  // namespace

TextStoreReport build_text_store(const std::string& path, TextCorpus& corpus, const text::Tokenizer& tokenizer,
                                 const std::function<void(double share)>& progress) {
  const text::SpecialIds special = tokenizer.special();
  if (special.eos < 0) fail("[store] the tokenizer has no id for the end of a document, expected one");
  TextStoreReport report;
  SequenceWriter file(path, kTextSequences);
  uint64_t bytes = 0, of_document = 0;
  std::vector<PieceInWork> chunk;
  while (read_chunk(corpus, chunk)) {
    // Lines are many and short, pieces of files few and long.
    const bool long_ones = chunk.size() < 4 * kPiecesAtOnce;
    parallel_for(static_cast<int64_t>(chunk.size()), long_ones ? 1 : kPiecesAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        PieceInWork& one = chunk[static_cast<size_t>(i)];
        one.ids = tokenizer.encode(one.piece.text);
      }
    });
    for (const PieceInWork& one : chunk) {
      file.append(one.ids);
      report.unknown += std::count(one.ids.begin(), one.ids.end(), special.unk);
      of_document += one.ids.size();
      bytes += one.piece.text.size();
      if (!one.piece.ends) continue;
      if (of_document == 0) {
        count_bad_line(report.no_tokens, one.piece.place);
      } else {
        file.append(std::span(&special.eos, 1));
        file.end_sequence();
      }
      of_document = 0;
    }
    if (progress) progress(corpus.progress());
  }
  file.finish(bytes);
  return report;
}

}  // namespace heed::data
