#include "heed/data/text_store.h"

#include <cstring>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/data/test_tokenizer.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class TextStoreTest : public ::testing::Test {
 protected:
  TextStoreReport build(const std::string& text, Documents documents = Documents::kLine, int64_t piece = 1 << 20) {
    put_content(folder_.file("text"), text);
    TextCorpus corpus({.files = {folder_.file("text")}, .documents = documents, .piece_bytes = piece});
    return build_text_store(path(), corpus, LetterTokenizer(), [this](double share) { shares_.push_back(share); });
  }
  std::string path() const { return folder_.file("store"); }
  const TemporaryFolder folder_;
  std::vector<double> shares_;
};

TEST_F(TextStoreTest, HoldsWhatWasRead) {
  const TextStoreReport report = build("a b ?\n\n- -\nc\n");
  EXPECT_EQ(report.unknown, 1);
  EXPECT_EQ(describe(report.no_tokens, "without a token"), "1 without a token (" + folder_.file("text") + ":3)");
  const TextStore store = TextStore::open(path());
  EXPECT_EQ(store.documents(), 2);
  EXPECT_EQ(store.tokens(), 6);
  EXPECT_EQ(store.bytes(), 9);
  EXPECT_EQ(std::vector<int32_t>(store.ids().begin(), store.ids().end()),
            (std::vector<int32_t>{3 + 'a', 3 + 'b', 1, 0, 3 + 'c', 0}));
  EXPECT_EQ(std::vector<uint64_t>(store.borders().begin(), store.borders().end()), (std::vector<uint64_t>{0, 4, 6}));
  EXPECT_TRUE(store.intact());
}

// However a file is cut, on however many threads: the same bytes.
TEST_F(TextStoreTest, PiecesAndThreadsChangeNothing) {
  Random random(4);
  std::string text;
  while (text.size() < 400'000) text += std::string(1, static_cast<char>('a' + random.below(26))) + " ";
  std::string first;
  for (const int threads : {1, 2, 3}) {
    for (const int64_t piece : {1000, 70'000, 1 << 20}) {
      set_num_threads(threads);
      build(text, Documents::kFile, piece);
      if (first.empty()) first = content_of(path());
      EXPECT_TRUE(content_of(path()) == first) << threads << " " << piece;
    }
  }
  set_num_threads(0);
  EXPECT_EQ(shares_.back(), 1.0);
  EXPECT_EQ(TextStore::open(path()).documents(), 1);
}

// Documents are cut where no id changes, or not at all.
TEST_F(TextStoreTest, IdsAreThoseOfTheWholeDocument) {
  Random random(5);
  std::string text;
  const char* parts[] = {"the", " cat", ".\n", "\n\n", " ", "  ", "12", "한국", "。\n", "é", " saw in", "</s>", " <s>"};
  while (text.size() < 300'000) {
    text += parts[random.below(std::size(parts))];
    if (random.below(400) == 0) text += std::string(3000, 'x');
  }
  const std::string unbroken(300'000, 'x');
  for (const std::string name : {"gpt2", "llama3", "llama", "metaspace_always"}) {
    SCOPED_TRACE(name);
    const auto tokenizer = text::load_tokenizer(HEED_SOURCE_DIR "/tests/golden/language_tokenizers/" + name);
    for (const std::string& document : {text, unbroken}) {
      put_content(folder_.file("text"), document);
      const TextConfig config{.files = {folder_.file("text")}, .piece_bytes = 400, .may_cut = tokenizer->cuts()};
      TextCorpus corpus(config), again(config);
      build_text_store(path(), corpus, *tokenizer);
      std::vector<int32_t> whole = tokenizer->encode(document);
      whole.push_back(tokenizer->special().eos);
      const TextStore store = TextStore::open(path());
      EXPECT_TRUE(std::equal(whole.begin(), whole.end(), store.ids().begin(), store.ids().end()));
      int64_t pieces = 0;
      for (TextPiece piece; again.next(piece); ++pieces) EXPECT_EQ(piece.begins, pieces == 0);
      const bool words = name == "gpt2" || name == "llama3";
      EXPECT_EQ(pieces > 3, document == text || !words) << pieces;  // no piece has "xx", which only characters see
    }
  }
}

// As much of a file is held as was said, whatever its tokenizer says.
TEST_F(TextStoreTest, APieceThatNothingCutsEndsAllTheSame) {
  const std::string text(3'000'000, 'x');
  put_content(folder_.file("text"), text);
  TextCorpus corpus({.files = {folder_.file("text")},
                     .piece_bytes = 1 << 16,
                     .may_cut = [](std::string_view, size_t) { return false; },
                     .most_bytes = 1 << 18});
  std::string whole;
  int64_t pieces = 0;
  for (TextPiece piece; corpus.next(piece); ++pieces) {
    EXPECT_LE(piece.text.size(), size_t{1} << 19);
    whole += piece.text;
  }
  EXPECT_TRUE(whole == text);
  EXPECT_GT(pieces, 5);
}

TEST_F(TextStoreTest, EveryFlippedOrMissingByteIsRefusedOrFound) {
  build("a b c\nd\nx\n");
  const std::string whole = content_of(path());
  const auto refused = [&](const std::string& wrong) {
    put_content(folder_.file("damaged"), wrong);
    try {
      return !TextStore::open(folder_.file("damaged")).intact();
    } catch (const FileError&) {
      return true;
    }
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x81);
    EXPECT_TRUE(refused(wrong)) << at;
    EXPECT_TRUE(refused(whole.substr(0, at))) << at;
  }
  EXPECT_TRUE(refused(whole + std::string(8, '\0')));
}

TEST_F(TextStoreTest, PairsAreNoDocuments) {
  build("a\n");
  const std::string message = message_of([&] { SequenceFile::open(path(), kPairSequences); });
  EXPECT_NE(message.find("it does not begin as a store of sentence pairs"), std::string::npos) << message;
}

}  // namespace
}  // namespace heed::data
