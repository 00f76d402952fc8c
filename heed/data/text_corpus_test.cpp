#include "heed/data/text_corpus.h"

#include <filesystem>

#include "heed/base/random.h"
#include "heed/data/test_gzip.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

namespace fs = std::filesystem;

class TextCorpusTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    const std::string path = folder_.file(name);
    fs::create_directories(fs::path(path).parent_path());
    put_content(path, text);
    return path;
  }

  // Whole documents, and that pieces end where they should.
  std::vector<std::string> documents(const TextConfig& config) {
    TextCorpus corpus(config);
    std::vector<std::string> all;
    bool open = false;
    double before = 0;
    for (TextPiece piece; corpus.next(piece); open = !piece.ends) {
      if (!open) all.emplace_back();
      all.back() += piece.text;
      EXPECT_GE(corpus.progress(), before);
      before = corpus.progress();
    }
    EXPECT_FALSE(open);
    report_ = corpus.report();
    EXPECT_EQ(report_.documents, static_cast<int64_t>(all.size()));
    return all;
  }

  const TemporaryFolder folder_;
  TextReport report_;
};

using Texts = std::vector<std::string>;

TEST_F(TextCorpusTest, AFileALineOrAParagraph) {
  TextConfig config{.files = {put("a", "\xEF\xBB\xBFone\ntwo\n\n \nthree\n"), put("b", "four")}};
  EXPECT_EQ(documents(config), (Texts{"one\ntwo\n\n \nthree\n", "four"}));
  EXPECT_EQ(report_.text(), "2 documents of 21 bytes");
  config.documents = Documents::kLine;
  EXPECT_EQ(documents(config), (Texts{"one", "two", "three", "four"}));
  EXPECT_EQ(report_.empty.count, 2);
  config.documents = Documents::kParagraph;
  // The end of a file ends a paragraph.
  EXPECT_EQ(documents(config), (Texts{"one\ntwo", "three", "four"}));
}

TEST_F(TextCorpusTest, FoldersByNameAndBelowAndPacked) {
  put("folder/b.txt", "B"), put("folder/a/z.txt", "Z"), put("folder/.hidden", "H");
  put("folder/c.txt.gz", gzip("C"));
  fs::create_directory_symlink(folder_.file("folder"), folder_.file("folder/loop"));
  const std::vector<std::string> files = files_under({folder_.file("folder"), folder_.file("none")});
  EXPECT_EQ(files, (Texts{folder_.file("folder/a/z.txt"), folder_.file("folder/b.txt"), folder_.file("folder/c.txt.gz"),
                          folder_.file("none")}));
  EXPECT_EQ(documents({.files = {files[0], files[1], files[2]}}), (Texts{"Z", "B", "C"}));
  fs::create_directory(folder_.file("empty"));
  EXPECT_NE(message_of([&] { files_under({folder_.file("empty")}); }).find("holds no file"), std::string::npos);
  EXPECT_NE(message_of([&] { TextCorpus({.files = files}); }).find("none"), std::string::npos);
}

TEST_F(TextCorpusTest, WhatIsNoTextIsLeftOutOrRefused) {
  TextConfig config{.files = {put("good", "yes"), put("bad", std::string(70000, 'x') + "\xff" + std::string(9, 'y')),
                              put("null", std::string("a\0b", 3)), put("blank", " \n\t"), put("half", "a\xe2\x82")}};
  EXPECT_EQ(documents(config), (Texts{"yes"}));
  EXPECT_EQ(report_.not_utf8.count, 3);
  EXPECT_EQ(report_.empty.count, 1);
  config.bad = BadLines::kRefuse;
  EXPECT_EQ(message_of([&] { documents(config); }), "[corpus] " + config.files[1] + " is not UTF-8 text");
  config = {.files = {put("lines", "good\n\xff\nlong long\nbetter\n")}, .documents = Documents::kLine, .max_bytes = 6};
  EXPECT_EQ(documents(config), (Texts{"good", "better"}));
  EXPECT_EQ(report_.too_long.count, 1);
  EXPECT_EQ(report_.not_utf8.first, (Texts{config.files[0] + ":2"}));
}

// Characters of every width, and few blanks: the pieces of a file give it back, and none cuts a character or a word.
TEST_F(TextCorpusTest, PiecesGiveTheFileBack) {
  Random random(3);
  std::string text;
  const char* parts[] = {"a", "é", "한", "😀", "word", " ", "\n", "\n\n", "  ", ","};
  while (text.size() < 300'000) text += parts[random.below(10)];
  TextConfig config{.files = {put("text", text)}};
  for (const int64_t bytes : {100, 5000, 70'000, 1'000'000}) {
    config.piece_bytes = bytes;
    EXPECT_EQ(documents(config), (Texts{text})) << bytes;
    TextCorpus corpus(config);
    std::string before;
    for (TextPiece piece; corpus.next(piece); before = piece.text) {
      if (before.empty()) continue;
      EXPECT_TRUE(piece.text[0] == ' ' || piece.text[0] == '\n') << piece.text.substr(0, 20);
      EXPECT_GT(before.back(), ' ');
    }
  }
}

TEST_F(TextCorpusTest, TheEndIsHeldOut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "é" + std::to_string(i) + "\n";
  const size_t middle = text.find("é500");
  TextConfig config{.files = {put("text", text.substr(0, middle)), put("more", text.substr(middle))}};
  for (const Documents kind : {Documents::kFile, Documents::kLine}) {
    config.documents = kind, config.part = {};
    documents(config);
    const int64_t all_bytes = report_.bytes;
    for (const int64_t piece : {200, 1 << 20}) {
      config.documents = kind, config.piece_bytes = piece;
      const auto part = [&](TextPart::Kind which, double share) {
        config.part = {.kind = which, .share = share, .all_bytes = all_bytes};
        std::string joined;
        for (const std::string& document : documents(config))
          joined += document + (kind == Documents::kFile ? "" : "\n");
        return joined;
      };
      for (const double share : {0.05, 0.1, 0.5}) {
        const std::string train = part(TextPart::kTrain, share), valid = part(TextPart::kValid, share);
        EXPECT_TRUE(train + valid == text) << share;
        // A character may be cut by the border, or a line; they stay whole.
        const double wanted = share * static_cast<double>(all_bytes);
        EXPECT_NEAR(static_cast<double>(report_.bytes), wanted, kind == Documents::kFile ? 2 : 8) << share;
      }
    }
  }
}

// The border falls into the first character of a piece: neither part may lose the end of its document.
TEST_F(TextCorpusTest, TheBorderMayMeetAnyCharacter) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "漢";
  TextConfig config{.files = {put("text", text)}, .piece_bytes = 300};
  for (int border = 290; border < 310; ++border) {
    const double share = 1 - border / 1200.0;
    std::string joined;
    for (const TextPart::Kind kind : {TextPart::kTrain, TextPart::kValid}) {
      config.part = {.kind = kind, .share = share, .all_bytes = 1200};
      const Texts found = documents(config);
      ASSERT_EQ(found.size(), 1u) << border;
      EXPECT_EQ(found[0].size() % 3, 0u) << border;
      joined += found[0];
    }
    EXPECT_TRUE(joined == text) << border;
  }
}

TEST_F(TextCorpusTest, DocumentsAreDrawnAtRandom) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + "\n";
  TextConfig config{.files = {put("text", text)}, .documents = Documents::kLine};
  const auto part = [&](TextPart::Kind which, uint64_t seed) {
    config.part = {.kind = which, .share = 0.1, .random = true, .seed = seed};
    return documents(config);
  };
  const Texts train = part(TextPart::kTrain, 1), valid = part(TextPart::kValid, 1);
  EXPECT_EQ(train.size() + valid.size(), 2000u);
  EXPECT_NEAR(static_cast<double>(valid.size()), 200, 50);
  EXPECT_EQ(part(TextPart::kValid, 1), valid);
  EXPECT_NE(part(TextPart::kValid, 2), valid);
  for (const std::string& document : valid) EXPECT_EQ(std::count(train.begin(), train.end(), document), 0);
}

}  // namespace
}  // namespace heed::data
