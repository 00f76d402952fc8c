// A text cut where a tokenizer allows it has the ids of the whole, at every such place.
#include "heed/text/safe_cuts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/text/train_tokenizer_lm.h"

namespace heed::text {
namespace {

// Words, signs, blanks of every kind, and special tokens.
std::string mixed_text(uint64_t seed) {
  Random random(seed);
  std::string text;
  const char* parts[] = {"the",  " cat",    ".",     "...\n",         "\n\n",   " ",    "  ", "\t",
                         "12",   "'s",      "don't", "한국",          "\u3000", "。\n", "é",  "😀",
                         "\r\n", " saw in", "-",     "<|endoftext|>", "</s>",   " <s>", "▁a", "e\u0301"};
  for (int i = 0; i < 60; ++i) text += parts[random.below(std::size(parts))];
  return text;
}

// How many places there were.
int expect_cuts(const Tokenizer& tokenizer) {
  const Tokenizer::Cuts may_cut = tokenizer.cuts();
  int places = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = mixed_text(seed);
    const std::vector<int32_t> whole = tokenizer.encode(text);
    for (size_t at = 1; at < text.size(); ++at) {
      if ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80 || !may_cut(text, at)) continue;
      std::vector<int32_t> ids = tokenizer.encode(text.substr(0, at));
      const std::vector<int32_t> rest = tokenizer.encode_on(text.substr(at));
      ids.insert(ids.end(), rest.begin(), rest.end());
      EXPECT_EQ(ids, whole) << text.substr(0, at) << " | " << text.substr(at);
      ++places;
    }
  }
  return places;
}

TEST(SafeCuts, IdsStayWhatTheyAre) {
  int kinds = 0;
  for (const auto& folder : std::filesystem::directory_iterator(HEED_SOURCE_DIR "/tests/golden/language_tokenizers")) {
    SCOPED_TRACE(folder.path().filename().string());
    EXPECT_GT(expect_cuts(*load_tokenizer(folder.path().string())), 100);
    ++kinds;
  }
  EXPECT_GE(kinds, 8);
  EXPECT_GT(expect_cuts(*byte_tokenizer()), 1000);
}

TEST(SafeCuts, OfSentencePieceWhereItTakesTextAsItIs) {
  for (const auto kind : {LmTokenizerKind::kSentencePiece, LmTokenizerKind::kUnigram, LmTokenizerKind::kChar}) {
    for (const std::string normalization : {"identity", "nmt_nfkc"}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(kind), normalization));
      LmTokenizerConfig config{.kind = kind, .pieces = {}};
      config.pieces.vocabulary = 278, config.pieces.normalization = normalization;
      bool given = false;
      const TrainedTokenizer made = train_lm_tokenizer(config, [&](std::string& text) {
        text = "the cat saw in the cat don't saw 12 cats.\nthe cat saw. 한국 한국 cat saw in\n";
        return !std::exchange(given, true);
      });
      const bool rewrites = normalization != "identity" && kind != LmTokenizerKind::kChar;
      EXPECT_EQ(expect_cuts(*made.tokenizer) > 100, !rewrites);
    }
  }
}

}  // namespace
}  // namespace heed::text
