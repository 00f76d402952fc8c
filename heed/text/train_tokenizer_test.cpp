#include "heed/text/train_tokenizer.h"

#include "heed/base/random.h"
#include "heed/io/test_files.h"
#include "heed/text/training_lines.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using Lines = std::vector<std::string>;

LineSource source_of(const Lines& lines) {
  return [&lines, at = size_t{0}](std::string& line) mutable {
    if (at == lines.size()) return false;
    line = lines[at++];
    return true;
  };
}

const Lines kEnglish = {"the cat caught the mouse", "the dog saw the cat", "a bird followed the old teacher",
                        "the teachers found three birds", "the mouse saw a cat and ran"};
const Lines kKorean = {"고양이가 쥐를 잡았다", "개가 고양이를 보았다", "새가 늙은 선생님을 따라갔다",
                       "선생님들이 새 세 마리를 찾았다", "쥐가 고양이를 보고 달아났다"};

TrainedTokenizers train(const TokenizerConfig& config) {
  return train_tokenizers(config, source_of(kEnglish), source_of(kKorean));
}

TokenizerConfig config_of(TokenizerKind kind, int64_t vocabulary, bool joint = true) {
  TokenizerConfig config;
  config.kind = kind;
  config.vocabulary = vocabulary;
  config.joint = joint;
  return config;
}

const std::vector<TokenizerConfig>& all_kinds() {
  static const std::vector<TokenizerConfig> kinds = {config_of(TokenizerKind::kBpe, 330),
                                                     config_of(TokenizerKind::kUnigram, 320),
                                                     config_of(TokenizerKind::kWord, 40),
                                                     config_of(TokenizerKind::kChar, 90),
                                                     config_of(TokenizerKind::kByte, 0),
                                                     config_of(TokenizerKind::kBpe, 300, false),
                                                     config_of(TokenizerKind::kUnigram, 290, false),
                                                     config_of(TokenizerKind::kWord, 20, false)};
  return kinds;
}

// SentencePiece drops blanks at the ends and keeps one of several.
std::string with_single_blanks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

void expect_round_trip(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<int32_t> ids = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.decode(ids), with_single_blanks(text));
  std::string bytes;
  for (const int32_t id : ids) {
    EXPECT_NE(id, tokenizer.special().unk) << text;
    bytes += tokenizer.bytes(id);
  }
  EXPECT_EQ(bytes.substr(std::min(bytes.size(), bytes.find_first_not_of(' '))), with_single_blanks(text));
}

const Lines kHardTexts = {"고양이가 쥐를 잡았다.",
                          "\u1100\u1169\u110b\u1163\u11bc\u110b\u1175",
                          "갂힣ㄱㅏ",
                          "猫捉住了老鼠。",
                          "\U00020bb7\U0002a6a5\U00030000",
                          "👩‍👩‍👧‍👦 👍🏽 🇰🇷 ❤️",
                          "e\u0301\u0302\u0303 Z\u0351\u036b\u0343",
                          "مرحبا بالعالم \u202bابجد\u202c",
                          "שָׁלוֹם",
                          "नमस्ते क्षि",
                          "ไทย ภาษา",
                          "Ελληνικά",
                          "  many   blanks    here  ",
                          "tab\there\u3000and\u00a0there",
                          "</s> <unk> <pad> <0x41> <s>",
                          ">>fra<< no code",
                          "▅ \ufffd \ufeff\u200b\u200d",
                          "",
                          "   ",
                          "x",
                          std::string("a\0b\x01\x7f", 5),
                          "line\nbreak\r",
                          "\U0010FFFF\uFFFE"};

TEST(TrainTokenizer, AnyTextSurvivesPiecesAndBytes) {
  for (const TokenizerConfig& config : all_kinds()) {
    if (config.kind == TokenizerKind::kWord || config.kind == TokenizerKind::kChar) continue;
    const TokenizerPair pair = train(config).pair;
    for (const auto& tokenizer : {pair.source, pair.target}) {
      for (const std::string& text : kHardTexts) {
        if (config.kind == TokenizerKind::kByte) {
          EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
        } else {
          expect_round_trip(*tokenizer, text);
        }
      }
    }
  }
}

// A character of any plane but the surrogates and the mark that stands for a blank.
char32_t any_character(Random& random) {
  const std::array<std::pair<char32_t, char32_t>, 8> ranges = {{{0x20, 0x7E},
                                                                {0x1, 0x2FF},
                                                                {0x300, 0x36F},
                                                                {0x1100, 0x11FF},
                                                                {0x600, 0xFFF},
                                                                {0xAC00, 0xD7A3},
                                                                {0xE000, 0xFFFF},
                                                                {0x10000, 0x10FFFF}}};
  const auto& [low, high] = ranges[random.below(ranges.size())];
  return random.below(4) == 0 ? U' ' : low + static_cast<char32_t>(random.below(high - low + 1));
}

TEST(TrainTokenizer, RandomTextSurvives) {
  Random random(5);
  for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kUnigram}) {
    const TokenizerPair pair = train(config_of(kind, 320)).pair;
    for (int i = 0; i < 500; ++i) {
      std::string text;
      for (uint64_t n = random.below(40); n > 0; --n) append_utf8(text, any_character(random));
      expect_round_trip(*pair.source, text);
    }
  }
}

TEST(TrainTokenizer, InvalidTextIsReplaced) {
  for (const TokenizerConfig& config : all_kinds()) {
    const TokenizerPair pair = train(config).pair;
    EXPECT_EQ(pair.source->encode("the \xFF\xE2\x82 cat"), pair.source->encode("the \uFFFD\uFFFD cat"));
  }
}

TEST(TrainTokenizer, WordsAndCharactersKnowTheirText) {
  for (const TokenizerConfig& config : {config_of(TokenizerKind::kWord, 60), config_of(TokenizerKind::kChar, 90)}) {
    const TokenizerPair pair = train(config).pair;
    for (const Lines& lines : {kEnglish, kKorean}) {
      for (const std::string& line : lines) expect_round_trip(*pair.source, line);
    }
    EXPECT_LT(pair.source->size(), config.vocabulary);  // what the text holds, no more
    const SpecialIds special = pair.source->special();
    EXPECT_EQ(pair.source->encode("☃"), pair.source->encode("☂"));
    EXPECT_EQ(pair.source->encode("☃").back(), special.unk);
    EXPECT_EQ(pair.source->decode(pair.source->encode("the ☃☃☃ cat")),
              config.kind == TokenizerKind::kWord ? "the cat" : "the  cat");
  }
  EXPECT_EQ(train(config_of(TokenizerKind::kWord, 8)).pair.source->size(), 8);
}

// A stranger must not be able to write an end of sentence into a text.
TEST(TrainTokenizer, SpecialPiecesInATextAreText) {
  for (const TokenizerConfig& config : all_kinds()) {
    const TokenizerPair pair = train(config).pair;
    for (const char* text : {"</s>", "<pad>", "a</s>b", " <unk> <pad>"}) {
      for (const int32_t id : pair.source->encode(text)) {
        EXPECT_NE(id, pair.source->special().eos);
        EXPECT_NE(id, pair.source->special().pad);
      }
    }
  }
}

TEST(TrainTokenizer, TheSameLinesGiveTheSameBytes) {
  for (const TokenizerConfig& config : all_kinds()) EXPECT_EQ(train(config).files, train(config).files);
}

TEST(TrainTokenizer, FilesAreWhatAFolderLoads) {
  for (const TokenizerConfig& config : all_kinds()) {
    const TrainedTokenizers trained = train(config);
    const TemporaryFolder folder;
    for (const auto& [name, content] : trained.files) put_content(folder.file(name), content);
    const TokenizerPair loaded = load_tokenizers(folder.file(""));
    EXPECT_EQ(loaded.shared(), trained.pair.shared());
    EXPECT_EQ(loaded.shared(), config.joint);
    EXPECT_EQ(loaded.source == loaded.target, config.joint);
    for (const std::string& text : kHardTexts) {
      EXPECT_EQ(loaded.source->encode(text), trained.pair.source->encode(text));
      EXPECT_EQ(loaded.target->encode(text), trained.pair.target->encode(text));
    }
    const SpecialIds special = loaded.source->special();
    EXPECT_EQ((std::array{special.eos, special.unk, special.pad}), (std::array{0, 1, 2}));
    EXPECT_EQ(loaded.source->piece(0), "</s>");
    EXPECT_EQ(loaded.source->piece(1), "<unk>");
    EXPECT_EQ(loaded.source->piece(2), "<pad>");
    EXPECT_EQ(loaded.target->decode(std::vector<int32_t>{0, 1, 2}), "");
    EXPECT_THROW(static_cast<void>(loaded.source->decode(std::vector{static_cast<int32_t>(loaded.source->size())})),
                 Error);
    EXPECT_THROW(static_cast<void>(loaded.source->decode(std::vector{-1})), Error);
    EXPECT_THROW(static_cast<void>(loaded.source->piece(-1)), Error);
  }
}

// The number at the end of a message that begins so.
int64_t number_in(const std::string& message, const std::string& beginning) {
  EXPECT_TRUE(message.starts_with(beginning)) << message;
  return message.starts_with(beginning) ? std::stoll(message.substr(beginning.size())) : 0;
}

TEST(TrainTokenizer, SaysWhichVocabulariesTheTextAllows) {
  for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kUnigram}) {
    const auto refused = [&](int64_t vocabulary) {
      return message_of<Error>([&] { train(config_of(kind, vocabulary)); });
    };
    const int64_t most =
        number_in(refused(8000), "[tokenizer] vocabulary 8000 is larger than the text allows, expected at most ");
    EXPECT_EQ(train(config_of(kind, most)).pair.source->size(), most);
    EXPECT_EQ(number_in(refused(most + 1), fmt::format("[tokenizer] vocabulary {} is larger than the text allows, "
                                                       "expected at most ",
                                                       most + 1)),
              most);
    const int64_t least = number_in(refused(270),
                                    "[tokenizer] vocabulary 270 is too small for the characters of the text, expected "
                                    "at least ");
    EXPECT_EQ(train(config_of(kind, least)).pair.source->size(), least);
    EXPECT_NE(refused(least - 1).find(fmt::format("expected at least {}", least)), std::string::npos);
  }
}

TEST(TrainTokenizer, WrongSettingsAreOneLine) {
  const auto message = [](const TokenizerConfig& config) { return message_of<Error>([&] { train(config); }); };
  EXPECT_EQ(message_of<Error>([] { tokenizer_kind("unigramm"); }),
            "[tokenizer] unknown kind 'unigramm': did you mean 'unigram'?");
  EXPECT_EQ(message_of<Error>([] { tokenizer_kind("xxxxxxxxxx"); }),
            "[tokenizer] unknown kind 'xxxxxxxxxx': expected bpe, unigram, word, char, byte");
  TokenizerConfig config = config_of(TokenizerKind::kBpe, 330);
  config.normalization = "nkfc";
  EXPECT_EQ(message(config), "[tokenizer] unknown normalization 'nkfc': did you mean 'nfkc'?");
  config = config_of(TokenizerKind::kBpe, 330);
  config.character_coverage = 0.5;
  EXPECT_EQ(message(config), "[tokenizer] character_coverage is 0.5, expected 0.98 to 1");
  EXPECT_EQ(message(config_of(TokenizerKind::kWord, 3)), "[tokenizer] vocabulary is 3, expected at least 4");
  EXPECT_EQ(message(config_of(TokenizerKind::kBpe, -1)), "[tokenizer] vocabulary is -1, expected at least 260");
  // Known without a look at the text.
  const auto unread = [](std::string&) -> bool { throw std::logic_error("was read"); };
  EXPECT_EQ(message_of<Error>([&] { train_tokenizers(config_of(TokenizerKind::kUnigram, 259), unread, unread); }),
            "[tokenizer] vocabulary is 259, expected at least 260");
  EXPECT_EQ(message(config_of(TokenizerKind::kBpe, 2'000'000)),
            "[tokenizer] vocabulary is 2000000, expected at most 1000000");
  const Lines nothing = {"", "  "};
  EXPECT_EQ(message_of<Error>([&] {
              train_tokenizers(config_of(TokenizerKind::kBpe, 300, false), source_of(nothing), source_of(kKorean));
            }),
            "[tokenizer] the source text is empty, expected lines to learn from");
}

TEST(TrainTokenizer, NormalizationIsTheTokenizersOwn) {
  TokenizerConfig config = config_of(TokenizerKind::kBpe, 330);
  config.normalization = "nfkc";
  const TokenizerPair pair = train(config).pair;
  EXPECT_EQ(pair.source->decode(pair.source->encode("ﬁne ① \u1100\u1161")), "fine 1 가");
}

TEST(TrainTokenizer, OddLinesDoNotSpoilTheTraining) {
  Lines lines = kEnglish;
  lines.push_back(std::string(5000, 'x') + " " + std::string(500, 'y'));
  lines.push_back("▅ block \xFF bytes " + std::string(1, '\0') + " </s> <pad> <unk> <0x41>");
  for (const TokenizerConfig& config : all_kinds()) {
    const TokenizerPair pair = train_tokenizers(config, source_of(lines), source_of(kKorean)).pair;
    if (config.kind == TokenizerKind::kWord || config.kind == TokenizerKind::kChar) continue;
    for (const std::string& text : kHardTexts) {
      if (config.kind != TokenizerKind::kByte) expect_round_trip(*pair.source, text);
    }
  }
}

TEST(LineSample, KeepsAnEvenShareInOrder) {
  LineSample sample(100, 3);
  for (int i = 0; i < 1000; ++i) sample.add(fmt::format("{:04}", i));
  EXPECT_EQ(sample.seen(), 1000);
  const Lines kept = std::move(sample).take();
  ASSERT_EQ(kept.size(), 100u);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  const auto early = std::count_if(kept.begin(), kept.end(), [](const std::string& line) { return line < "0500"; });
  EXPECT_NEAR(static_cast<double>(early), 50, 15);
}

TEST(LineSample, CutsLongLinesBetweenWordsOrCharacters) {
  Lines lines;
  append_training_lines(lines, std::string(3000, 'a') + " " + std::string(3000, 'b'));
  EXPECT_EQ(lines, (Lines{std::string(3000, 'a') + " ", std::string(3000, 'b')}));
  lines.clear();
  std::string korean;
  for (int i = 0; i < 3000; ++i) korean += "한";
  append_training_lines(lines, korean);
  ASSERT_EQ(lines.size(), 3u);
  std::string together;
  for (const std::string& line : lines) {
    EXPECT_TRUE(valid_utf8(line));
    EXPECT_LE(line.size(), 4000u);
    together += line;
  }
  EXPECT_EQ(together, korean);
}

}  // namespace
}  // namespace heed::text
