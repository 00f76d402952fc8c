#include "heed/data/parallel_corpus.h"

#include <utility>

#include "heed/data/test_gzip.h"
#include "heed/io/test_files.h"

namespace heed::data {
namespace {

class CorpusTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& content) {
    put_content(folder_.file(name), content);
    return folder_.file(name);
  }
  // Every pair as "source|target".
  std::vector<std::string> read(const CorpusConfig& config) {
    ParallelCorpus corpus(config);
    std::vector<std::string> pairs;
    for (SentencePair pair; corpus.next(pair);) pairs.push_back(pair.source + "|" + pair.target);
    report_ = corpus.report();
    EXPECT_EQ(corpus.progress(), 1.0);
    EXPECT_EQ(report_.pairs, static_cast<int64_t>(pairs.size()));
    return pairs;
  }
  CorpusConfig two(const std::string& source, const std::string& target) {
    CorpusConfig config;
    config.src = {put("s", source)};
    config.tgt = {put("t", target)};
    return config;
  }
  CorpusConfig tsv(const std::string& content) {
    CorpusConfig config;
    config.tsv = {put("tsv", content)};
    return config;
  }
  const TemporaryFolder folder_;
  CorpusReport report_;
};

using Pairs = std::vector<std::string>;

TEST_F(CorpusTest, TwoFiles) {
  EXPECT_EQ(read(two("a\nb\n", "1\n2\n")), (Pairs{"a|1", "b|2"}));
  EXPECT_EQ(read(two("a\r\nb", "\xEF\xBB\xBF 고양이\n2\n")), (Pairs{"a| 고양이", "b|2"}));
  EXPECT_EQ(read(two("", "")), Pairs{});
  EXPECT_EQ(report_.text(), "0 pairs");
}

TEST_F(CorpusTest, SeveralFilesWithOtherBreaksAndGzip) {
  CorpusConfig config;
  config.src = {put("s1", "a\nb\nc"), put("s2.gz", gzip("d\n"))};
  config.tgt = {put("t1.gz", gzip("1\n")), put("t2", ""), put("t3", "2\n3\n4")};
  EXPECT_EQ(read(config), (Pairs{"a|1", "b|2", "c|3", "d|4"}));
}

TEST_F(CorpusTest, Tsv) {
  EXPECT_EQ(read(tsv("a\t1\nb c\t2\tCC-BY\n")), (Pairs{"a|1", "b c|2"}));
  EXPECT_EQ(report_.text(), "2 pairs");
}

TEST_F(CorpusTest, BadLinesAreCountedAndNamed) {
  CorpusConfig config = two("a\n\nc\nd\xFF\n \ne\nlong long\nf\n", "1\n2\n \t\n4\n5\n\xC0\xAF\n7\n\n");
  config.max_bytes = 8;
  EXPECT_EQ(read(config), Pairs{"a|1"});
  const std::string s = config.src[0], t = config.tgt[0];
  EXPECT_EQ(report_.empty.count, 4);
  EXPECT_EQ(report_.text(), "1 pair; skipped 4 empty (" + s + ":2, " + t + ":3, " + s + ":5, ...), 1 too long (" + s +
                                ":7), 2 not UTF-8 (" + s + ":4, " + t + ":6)");
}

TEST_F(CorpusTest, BadLinesOfTsv) {
  CorpusConfig config = tsv("a\t1\nno tab\n\n\t2\nb\t\nc\t3\t\xFF\nwords too long\t4\nd\ttoo long as well\n");
  config.max_bytes = 8;
  EXPECT_EQ(read(config), (Pairs{"a|1", "c|3"}));
  const std::string f = config.tsv[0];
  EXPECT_EQ(report_.text(), "2 pairs; skipped 3 empty (" + f + ":3, " + f + ":4, " + f + ":5), 2 too long (" + f +
                                ":7, " + f + ":8), 1 without a tab (" + f + ":2)");
}

// With the mark's three bytes the reader's room ends inside of the second column, which then looks short enough.
TEST_F(CorpusTest, AByteOrderMarkHidesNoLongColumn) {
  CorpusConfig config =
      tsv("\xEF\xBB\xBF"
          "12345678\ttoo long as well\na\t1\n");
  config.max_bytes = 8;
  EXPECT_EQ(read(config), Pairs{"a|1"});
  EXPECT_EQ(report_.too_long.count, 1);
}

TEST_F(CorpusTest, ALineOfAnyBlanksIsEmpty) {
  EXPECT_EQ(read(two("a\n\u3000\u00a0\nc\n", "1\n2\n3\n")), (Pairs{"a|1", "c|3"}));
  EXPECT_EQ(report_.empty.count, 1);
}

TEST_F(CorpusTest, BadLinesAreRefusedWithTheirPlace) {
  const auto refusal = [&](CorpusConfig config) {
    config.bad_lines = BadLines::kRefuse;
    config.max_bytes = 8;
    return message_of([&] { read(config); });
  };
  const std::string s = folder_.file("s"), t = folder_.file("t"), f = folder_.file("tsv");
  EXPECT_EQ(refusal(two("a\n\n", "1\n2\n")), "[corpus] " + s + ":2 is empty");
  EXPECT_EQ(refusal(two("a\nb\n", "1\n\xED\xA0\x80\n")), "[corpus] " + t + ":2 is not UTF-8 text");
  EXPECT_EQ(refusal(two("123456789\n", "1\n")), "[corpus] " + s + ":1 is too long (more than 8 bytes)");
  EXPECT_EQ(refusal(tsv("a\t1\nb\n")), "[corpus] " + f + ":2 has no tab between source and target");
}

TEST_F(CorpusTest, WhatIsUtf8) {
  const auto good = [&](const std::string& line) { return read(two(line + "\n", "x\n")).size() == 1; };
  for (const std::string line : {"é", "고양이", "😀", "e\xCC\x81", "\xF4\x8F\xBF\xBF", "\x7F", "\xEF\xBF\xBD"}) {
    EXPECT_TRUE(good(line)) << line;
  }
  for (const std::string line :
       {"\x80", "\xC3", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE3\x81", "\xC3(", "\xE3\x81("}) {
    EXPECT_FALSE(good(line));
  }
  EXPECT_FALSE(good(std::string("c\0a\0t\0", 6)));
}

TEST_F(CorpusTest, UnequalNumbersOfLinesAreAlwaysAnError) {
  const std::string s = folder_.file("s"), t = folder_.file("t");
  EXPECT_EQ(message_of([&] { read(two("a\nb\nc\n", "1\n2\n")); }),
            "[corpus] unequal numbers of lines: 3 in " + s + ", 2 in " + t);
  std::string many;
  for (int i = 0; i < 1234; ++i) many += "x\n";
  EXPECT_EQ(message_of([&] { read(two("a\n", many)); }),
            "[corpus] unequal numbers of lines: 1 in " + s + ", 1,234 in " + t);
  CorpusConfig config = two("a\n", "");
  config.tgt.push_back(config.tgt[0]);
  EXPECT_EQ(message_of([&] { read(config); }),
            "[corpus] unequal numbers of lines: 1 in " + s + ", 0 in " + t + " and 1 more");
}

TEST_F(CorpusTest, WhatWasAskedMustMakeSense) {
  CorpusConfig config;
  EXPECT_NE(message_of<Error>([&] { read(config); }).find("no source file"), std::string::npos);
  config.src = {put("s", "")};
  EXPECT_NE(message_of<Error>([&] { read(config); }).find("no target file"), std::string::npos);
  config.tsv = {put("f", "")};
  EXPECT_NE(message_of<Error>([&] { read(config); }).find("both TSV and"), std::string::npos);
  config.tsv.clear();
  config.src = config.tgt = {"-"};
  EXPECT_NE(message_of<Error>([&] { read(config); }).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace heed::data
