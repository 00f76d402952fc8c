#include "heed/text/train_tokenizer_lm.h"

#include <map>
#include <set>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/io/test_files.h"
#include "heed/text/char_tokenizer.h"
#include "heed/text/gpt2_words.h"
#include "heed/text/train_tokenizer_bytes.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

LineSource source_of(const std::vector<std::string>& texts) {
  return [texts, at = size_t{0}](std::string& text) mutable {
    if (at == texts.size()) return false;
    text = texts[at++];
    return true;
  };
}

TrainedTokenizer train(LmTokenizerKind kind, const std::vector<std::string>& texts, int64_t vocabulary = 0) {
  LmTokenizerConfig config;
  config.kind = kind;
  config.pieces.vocabulary = vocabulary;
  return train_lm_tokenizer(config, source_of(texts));
}

// Words of letters of several alphabets, numbers, signs, every kind of blank.
std::string random_text(uint64_t seed, size_t bytes) {
  Random random(seed);
  const char* syllables[] = {"ba", "ne",   "ko", "한", "국", "é", "ß", "1",  "42", "'s",   "!",   ", ",
                             "\n", "\n\n", "  ", " ",  " ",  " ", " ", "\t", "😀",  " the", " and"};
  std::string text;
  while (text.size() < bytes) text += syllables[random.below(std::size(syllables))];
  return text;
}

TEST(LmTokenizer, EveryKindGivesTheTextBack) {
  const std::string text = random_text(1, 30000), other = random_text(2, 3000);
  for (const LmTokenizerKind kind : {LmTokenizerKind::kBpe, LmTokenizerKind::kChar, LmTokenizerKind::kByte,
                                     LmTokenizerKind::kSentencePiece, LmTokenizerKind::kUnigram}) {
    const TrainedTokenizer trained = train(kind, {text});
    for (const std::string& each : {text, other, std::string(" a \n\n b\t"), std::string()}) {
      const std::vector<int32_t> ids = trained.tokenizer->encode(each);
      EXPECT_EQ(trained.tokenizer->decode(ids), each) << static_cast<int>(kind);
      for (const int32_t id : ids) ASSERT_TRUE(id >= 0 && id < trained.tokenizer->size());
    }
    EXPECT_GE(trained.tokenizer->special().eos, 0);
    // The same text, however it comes and on however many threads, the same files.
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      EXPECT_TRUE(train(kind, {text}).files == trained.files);
    }
    set_num_threads(0);
  }
}

TEST(LmTokenizer, CharactersAreAllThereOrTheFrequentOnes) {
  const auto all = train(LmTokenizerKind::kChar, {"b a\n", "a한"});
  EXPECT_EQ(all.tokenizer->size(), 2 + 5);
  EXPECT_EQ(all.tokenizer->encode("\n ab한?"), (std::vector<int32_t>{2, 3, 4, 5, 6, 1}));
  EXPECT_EQ(all.tokenizer->decode(std::vector<int32_t>{4, 0, 1, 5}), "ab");
  EXPECT_EQ(all.tokenizer->piece(2), "<0x0A>");
  const auto two = train(LmTokenizerKind::kChar, {"aaabbc"}, 4);
  EXPECT_EQ(two.tokenizer->encode("abc"), (std::vector<int32_t>{2, 3, 1}));
}

TEST(LmTokenizer, ACharacterFileThatIsNoneIsRefused) {
  const std::string good = char_files(U"ab").front().second;
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string wrong = good;
    wrong.replace(wrong.find(from), from.size(), to);
    return message_of([&] { read_char_tokenizer(wrong, "F"); });
  };
  EXPECT_EQ(refusal("\"char\"", "\"word\""), "[tokenizer] F: 'type' is \"word\", expected \"char\"");
  EXPECT_EQ(refusal("\"b\"", "\"a\""), "[tokenizer] F: 'a' stands twice in 'characters'");
  EXPECT_EQ(refusal("\"b\"", "\"bb\""), "[tokenizer] F: item 1 of 'characters' is no character");
  EXPECT_EQ(refusal("\"b\"", "7"), "[tokenizer] F: item 1 of 'characters' is no character");
  EXPECT_EQ(refusal("{", ""), "[tokenizer] F: not a JSON object");
}

// The most frequent pair, counted anew each time, as the definition has it.
std::vector<std::pair<int32_t, int32_t>> merges_by_definition(const WordCounts& counts, const LearnedPairs& learned) {
  std::map<std::string, int32_t> letter;
  for (int32_t id = 0; id < 256; ++id) letter[learned.pieces[static_cast<size_t>(id)]] = id;
  std::vector<std::pair<std::vector<int32_t>, int64_t>> words;
  for (const auto& [word, count] : counts) {
    std::vector<int32_t> ids;
    for (const char c : word) ids.push_back(letter[std::string(1, c)]);  // of letters that stand for themselves
    words.emplace_back(ids, count);
  }
  std::vector<std::pair<int32_t, int32_t>> merges;
  for (int32_t next = 256; merges.size() < learned.merges.size(); ++next) {
    std::map<std::pair<int32_t, int32_t>, int64_t> seen;
    for (const auto& [ids, count] : words) {
      for (size_t i = 0; i + 1 < ids.size(); ++i) seen[{ids[i], ids[i + 1]}] += count;
    }
    auto best = seen.begin();
    for (auto it = seen.begin(); it != seen.end(); ++it) {
      if (it->second > best->second) best = it;
    }
    merges.push_back(best->first);
    for (auto& [ids, count] : words) {
      std::vector<int32_t> merged;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool here = i + 1 < ids.size() && std::pair(ids[i], ids[i + 1]) == merges.back();
        merged.push_back(here ? next : ids[i]);
        i += here;
      }
      ids = merged;
    }
  }
  return merges;
}

TEST(LmTokenizer, PairsAreThoseOfTheDefinition) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    WordCounts counts;
    for (int i = 0; i < 60; ++i) {
      std::string word;
      for (uint64_t n = 1 + random.below(9); n > 0; --n) word += static_cast<char>('a' + random.below(4));
      counts[word] += 1 + static_cast<int64_t>(random.below(5));
    }
    const LearnedPairs learned = learn_byte_pairs(counts, 40);
    EXPECT_EQ(learned.merges, merges_by_definition(counts, learned)) << seed;
    EXPECT_EQ(std::set<std::string>(learned.pieces.begin(), learned.pieces.end()).size(), learned.pieces.size());
  }
}

TEST(LmTokenizer, AVocabularyThatTheTextCannotFillIsRefused) {
  const std::string message = message_of<Error>([] { train(LmTokenizerKind::kBpe, {"ab ab ab"}, 1000); });
  EXPECT_EQ(message, "[tokenizer] vocabulary 1000 is larger than the text allows, expected at most 259");
  EXPECT_EQ(train(LmTokenizerKind::kBpe, {"ab ab ab"}, 259).tokenizer->size(), 259);
  EXPECT_EQ(train(LmTokenizerKind::kBpe, {"ab ab ab"}).tokenizer->size(), 259);
  EXPECT_NE(message_of<Error>([] { train(LmTokenizerKind::kBpe, {"ab"}, 5); }).find("at least 257"), std::string::npos);
  EXPECT_NE(message_of<Error>([] { train(LmTokenizerKind::kBpe, {}); }).find("empty"), std::string::npos);
  EXPECT_NE(message_of<Error>([] { train(LmTokenizerKind::kChar, {""}); }).find("empty"), std::string::npos);
  EXPECT_NE(message_of<Error>([] { lm_tokenizer_kind("sentencpiece"); }).find("'sentencepiece'?"), std::string::npos);
}

TEST(LmTokenizer, WordsAreCountedAlikeInAnyPieces) {
  const std::string text = random_text(3, 20000);
  WordCounts whole, pieces;
  count_words(whole, text);
  std::vector<std::string> parts;
  for (const std::string_view word : gpt2_words(text)) parts.emplace_back(word);
  int64_t words = 0;
  for (const auto& [word, count] : whole) words += count;
  EXPECT_EQ(words, static_cast<int64_t>(parts.size()));
  count_words(pieces, std::vector<std::string>{text, text});
  for (auto& [word, count] : whole) count *= 2;
  EXPECT_EQ(pieces, whole);
}

}  // namespace
}  // namespace heed::text
