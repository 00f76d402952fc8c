#include "heed/data/pair_store.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/data/sequence_format.h"
#include "heed/data/test_tokenizer.h"
#include "heed/io/test_files.h"
#include "heed/text/train_tokenizer.h"

namespace heed::data {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  StoreReport build(const std::string& source, const std::string& target, const StoreConfig& config = {},
                    const text::TokenizerPair& tokenizers = letter_tokenizers()) {
    put_content(folder_.file("s"), source);
    put_content(folder_.file("t"), target);
    CorpusConfig files;
    files.src = {folder_.file("s")};
    files.tgt = {folder_.file("t")};
    ParallelCorpus corpus(files);
    return build_store(path(), corpus, tokenizers, config, [this](double share) { shares_.push_back(share); });
  }
  std::string path() const { return folder_.file("store"); }
  // What the damaged bytes are refused with.
  std::string refusal(const std::string& bytes) {
    put_content(folder_.file("damaged"), bytes);
    const std::string message = message_of([&] { PairStore::open(folder_.file("damaged")); });
    EXPECT_TRUE(message.starts_with("[store] '") || message.starts_with("[read] ")) << message;
    return message;
  }
  const TemporaryFolder folder_;
  std::vector<double> shares_;
};

std::string text_of(std::span<const int32_t> ids) { return LetterTokenizer().decode(ids); }

TEST_F(StoreTest, HoldsWhatWasRead) {
  const StoreReport report = build("a b c\nd ?\n", "x\ny ? z ?\n");
  EXPECT_EQ(report.unknown, 3);
  const PairStore store = PairStore::open(path());
  ASSERT_EQ(store.size(), 2);
  EXPECT_EQ(text_of(store.source(0)), "abc");
  EXPECT_EQ(text_of(store.target(1)), "yz");
  EXPECT_EQ(store.source_length(0), 4);
  EXPECT_EQ(store.target_length(1), 5);
  EXPECT_EQ(store.source(1).back(), 0);
  EXPECT_EQ(store.source_tokens(), 7);
  EXPECT_EQ(store.target_tokens(), 7);
  EXPECT_TRUE(store.intact());
}

TEST_F(StoreTest, VariantsAreOfThePairsThatAreThere) {
  const std::vector<std::string> lines = {"the cat caught the mouse", "the mouse", "the other cat caught another mouse"};
  const auto source = [&]() -> text::LineSource {
    return [&lines, at = size_t{0}](std::string& line) mutable {
      if (at == lines.size()) return false;
      line = lines[at++];
      return true;
    };
  };
  text::TokenizerConfig tokens;
  tokens.vocabulary = 300;
  const text::TokenizerPair bpe = text::train_tokenizers(tokens, source(), source()).pair;
  StoreConfig config;
  config.max_length = 20, config.variants = 3, config.split_dropout = 0.5;
  const StoreReport report = build("the cat\n" + std::string(40, 'u') + "\nthe mouse\n", "mouse\ny\nother\n", config, bpe);
  EXPECT_EQ(report.too_long.count, 1);
  const PairStore store = PairStore::open(path());
  ASSERT_EQ(store.size(), 6);
  std::set<std::vector<int32_t>> cuts;
  for (const int64_t i : {0, 2, 4}) {
    EXPECT_EQ(bpe.source->decode(store.source(i)), "the cat");
    cuts.insert({store.source(i).begin(), store.source(i).end()});
  }
  EXPECT_GT(cuts.size(), 1u);
  for (const int64_t i : {1, 3, 5}) EXPECT_EQ(bpe.target->decode(store.target(i)), "other");
}

TEST_F(StoreTest, VariantsNeedATokenizerThatMerges) {
  StoreConfig config;
  config.variants = 3;
  const std::string message = message_of<Error>([&] { build("a b c\n", "x\n", config); });
  EXPECT_NE(message.find("3 variants of a sentence"), std::string::npos) << message;
}

TEST_F(StoreTest, AnEmptyCorpusIsAnEmptyStore) {
  build("", "");
  EXPECT_EQ(PairStore::open(path()).size(), 0);
}

TEST_F(StoreTest, LongPairsAreLeftOutOrRefused) {
  StoreConfig config;
  config.max_length = 3;
  const StoreReport report = build("a b\na b c\na\nb\n", "x\ny\nz z z\nu u\n", config);
  EXPECT_EQ(report.too_long.count, 2);
  EXPECT_EQ(report.too_long.first, (std::vector<std::string>{folder_.file("s") + ":2", folder_.file("t") + ":3"}));
  const PairStore store = PairStore::open(path());
  ASSERT_EQ(store.size(), 2);
  EXPECT_EQ(text_of(store.target(1)), "uu");
  config.bad_lines = BadLines::kRefuse;
  EXPECT_EQ(message_of([&] { build("a\na b c\n", "x\ny\n", config); }),
            "[store] " + folder_.file("s") + ":2 has 4 tokens with the end mark, expected at most 3");
  EXPECT_EQ(PairStore::open(path()).size(), 2) << "the old file must stay";
}

TEST_F(StoreTest, ALineWithoutTokensIsLeftOutAndNamed) {
  const StoreReport report = build("a\n- -\n\n", "x\ny\nz\n");
  EXPECT_EQ(describe(report.no_tokens, "without a token"), "1 without a token (" + folder_.file("s") + ":2)");
  EXPECT_EQ(PairStore::open(path()).size(), 1);
  EXPECT_EQ(message_of([&] { build("a\n- -\n", "x\ny\n", {.bad_lines = BadLines::kRefuse}); }),
            "[store] " + folder_.file("s") + ":2 has no token");
}

// More pairs than a chunk holds, on any number of threads: the same bytes in the order of the corpus.
TEST_F(StoreTest, ManyPairsInOrderOnAnyNumberOfThreads) {
  Random random(5);
  std::string source, target;
  std::vector<std::string> expected;
  for (int i = 0; i < 20000; ++i) {
    std::string letters;
    for (uint64_t n = 1 + random.below(9); n > 0; --n) letters += static_cast<char>('a' + random.below(26));
    expected.push_back(letters);
    for (const char letter : letters) (source += letter) += ' ';
    source += "\n";
    target += letters.substr(0, 1) + "\n";
  }
  std::string first;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    shares_.clear();
    build(source, target);
    if (threads == 1) first = content_of(path());
    EXPECT_EQ(content_of(path()), first);
  }
  set_num_threads(0);
  EXPECT_GE(shares_.size(), 3u);
  EXPECT_TRUE(std::is_sorted(shares_.begin(), shares_.end()));
  EXPECT_EQ(shares_.back(), 1.0);
  const PairStore store = PairStore::open(path());
  ASSERT_EQ(store.size(), 20000);
  for (int64_t i = 0; i < store.size(); ++i) {
    ASSERT_EQ(text_of(store.source(i)), expected[static_cast<size_t>(i)]);
    ASSERT_EQ(text_of(store.target(i)), expected[static_cast<size_t>(i)].substr(0, 1));
  }
}

TEST_F(StoreTest, TheFingerprintTellsDataApart) {
  const auto fingerprint = [&](const std::string& source, const std::string& target) {
    build(source, target);
    return PairStore::open(path()).fingerprint();
  };
  const uint64_t first = fingerprint("a b\nc\n", "x\ny\n");
  EXPECT_EQ(fingerprint("a b\nc\n", "x\ny\n"), first);
  EXPECT_NE(fingerprint("a c\nb\n", "x\ny\n"), first);
  EXPECT_NE(fingerprint("c\na b\n", "y\nx\n"), first);
  EXPECT_NE(fingerprint("a b\n", "x\n"), first);
  EXPECT_NE(fingerprint("x\ny\n", "a b\nc\n"), first);
}

TEST_F(StoreTest, CutShortAnywhereIsAnError) {
  build("a b c\nd\n", "x\ny z\n");
  const std::string whole = content_of(path());
  for (size_t size = 0; size < whole.size(); ++size) refusal(whole.substr(0, size));
  refusal(whole + std::string(8, '\0'));
}

TEST_F(StoreTest, EveryFlippedByteIsRefusedOrFound) {
  build("a b c\nd\n", "x\ny z\n");
  const std::string whole = content_of(path());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x81);
    put_content(folder_.file("damaged"), wrong);
    try {
      EXPECT_FALSE(PairStore::open(folder_.file("damaged")).intact()) << at;
    } catch (const FileError&) {
      continue;
    }
  }
}

TEST_F(StoreTest, CountsAndOffsetsThatLie) {
  build("a b c\nd\n", "x\ny z\n");
  const std::string whole = content_of(path());
  const size_t end_at = whole.size() - sizeof(StoreEnd);
  const auto with_word = [&](size_t at, uint64_t value) {
    std::string wrong = whole;
    std::memcpy(&wrong[at], &value, sizeof(value));
    return wrong;
  };
  EXPECT_NE(refusal(with_word(8, 2)).find("has version 2, expected 1"), std::string::npos);
  for (const uint64_t lie : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 59,
                             uint64_t{1} << 60, uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (size_t word = 0; word < 3; ++word) {
      EXPECT_NE(refusal(with_word(end_at + 8 * word, lie)).find("is damaged"), std::string::npos) << word << " " << lie;
    }
  }
  const size_t offsets_at = end_at - 5 * sizeof(uint64_t);
  for (const uint64_t lie : {uint64_t{12}, uint64_t{1} << 40, ~uint64_t{0}}) {
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_NE(refusal(with_word(offsets_at + 8 * i, lie)).find("is damaged"), std::string::npos) << i << " " << lie;
    }
  }
  EXPECT_NE(refusal(with_word(offsets_at, 1)).find("do not cover"), std::string::npos);
}

}  // namespace
}  // namespace heed::data
