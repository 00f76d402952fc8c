// How long lines are cut, and what a model's limits do to them.
#include "heed/tasks/translator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "heed/base/error.h"
#include "heed/decode/test_pointing.h"
#include "heed/tasks/score.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/train_tokenizer.h"
#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

using Texts = std::vector<std::string>;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::shared_ptr<const text::Tokenizer> bytes() { return text::byte_tokenizer(); }

// Pieces of these lines; what they do not hold falls back to bytes.
std::shared_ptr<const text::Tokenizer> trained(const Texts& lines) {
  const auto source = [&lines](size_t& at) {
    return [&lines, &at](std::string& line) { return at < lines.size() && (line = lines[at++], true); };
  };
  size_t first = 0, second = 0;
  const text::TokenizerConfig config{.kind = text::TokenizerKind::kBpe, .vocabulary = 0};
  return text::train_tokenizers(config, source(first), source(second)).pair.source;
}

// The texts of the parts, which together are the whole.
Texts parts_of(const std::string& line, const text::Tokenizer& tokenizer, int64_t most) {
  const std::vector<int32_t> ids = tokenizer.encode(line);
  std::vector<int32_t> joined;
  Texts texts;
  for (const std::vector<int32_t>& part : split_source(ids, tokenizer, most)) {
    EXPECT_FALSE(part.empty());
    EXPECT_LE(static_cast<int64_t>(part.size()), most);
    joined.insert(joined.end(), part.begin(), part.end());
    std::string text;
    for (const int32_t id : part) text += tokenizer.bytes(id);
    EXPECT_TRUE(text::valid_utf8(text)) << text;
    texts.push_back(text);
  }
  EXPECT_EQ(joined, ids);
  return texts;
}

const std::string kChinese = "你好。我们今天去哪里？他说：“不知道。”然后走了！";

TEST(SplitSource, SentencesEndWithoutBlanks) {
  for (const auto& tokenizer :
       {bytes(), trained({kChinese, "我们，你们", "the cat"}), trained({"the cat saw", "a dog"})}) {
    const int64_t most = static_cast<int64_t>(tokenizer->encode(kChinese).size());
    const Texts parts = parts_of(repeated(kChinese, 9), *tokenizer, most);
    EXPECT_GT(parts.size(), 8u);
    for (const std::string& part : parts) {
      EXPECT_TRUE(part.ends_with("？") || part.ends_with("。”") || part.ends_with("！")) << part;
    }
  }
  // Quotation marks stay with what they close, and a comma is better than any place.
  EXPECT_EQ(parts_of("「行く。」「来る。」", *bytes(), 17), (Texts{"「行く。」", "「来る。」"}));
  EXPECT_EQ(parts_of("我们去，你们来", *bytes(), 17), (Texts{"我们去，", "你们来"}));
}

TEST(SplitSource, KoreanBytesAreCutBetweenWords) {
  const std::string line = repeated("고양이가 쥐를 잡았다. ", 20);
  const Texts parts = parts_of(line, *bytes(), 100);
  for (size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_TRUE(parts[i].ends_with("잡았다.")) << parts[i];
  for (const std::string& part : parts_of(line, *bytes(), 20)) {
    EXPECT_TRUE(part.starts_with(' ') || part.starts_with("고양이가")) << part;
  }
}

TEST(SplitSource, NoCharacterIsCut) {
  const auto fallback = trained({"the cat saw", "a dog"});
  for (const std::string& line : {repeated("고", 100), repeated("猫", 100), repeated("😀", 100), repeated("é😀a", 50)}) {
    for (const auto& tokenizer : {bytes(), fallback}) {
      for (const int64_t most : {4, 5, 7, 10, 33}) parts_of(line, *tokenizer, most);
    }
  }
  // A character that is longer than a part may be has to be cut.
  EXPECT_EQ(split_source(bytes()->encode("😀"), *bytes(), 3).size(), 2u);
}

TEST(SplitSource, SentencesThenWordsWithBlanks) {
  const auto tokenizer = trained({"the cat saw 3.14 birds . the dog", "a dog"});
  for (const std::shared_ptr<const text::Tokenizer>& t : {bytes(), tokenizer}) {
    const std::string one = "the cat saw 3.14 birds.";
    const Texts parts = parts_of(fmt::format("{0} {0}", one), *t, static_cast<int64_t>(t->encode(one).size()) + 2);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(text::trim_start(parts[0]), one);
    EXPECT_EQ(text::trim_start(parts[1]), one);
  }
}

TEST(WordAlignment, WordsOfBytesAreToldByBlanks) {
  const std::vector<int32_t> target = bytes()->encode("ab  c ");
  std::vector<int32_t> source = bytes()->encode("x yz");
  source.push_back(0);
  Tensor weights = Tensor::empty({static_cast<int64_t>(target.size()), static_cast<int64_t>(source.size())});
  for (size_t t = 0; t < target.size(); ++t) {  // "ab" looks at "yz", "c" at "x"
    for (size_t s = 0; s < source.size(); ++s) {
      weights.data()[t * source.size() + s] = (t < 2) == (s > 1) ? 1.0f : 0.0f;
    }
  }
  EXPECT_EQ(word_alignment(weights, source, *bytes(), target, *bytes()), (std::vector<WordPair>{{1, 0}, {0, 1}}));
}

// The words of a sentence in another order, by a model that points at the letter that was said before.
TEST(WordAlignment, WordsOfATranslationBelongToThoseOfItsLine) {
  models::EncoderDecoder model = decode::pointing_model(259, {1, 0});
  model.config.alignment = {1, 0};
  const text::TokenizerPair tokenizers{bytes(), bytes(), true};
  TranslateConfig config;
  config.alignment = true;
  bool asked = false;
  const auto next = [&](SourceLine& line, bool) {
    if (std::exchange(asked, true)) return decode::Input::kEnd;
    line.text = "abcde fghij klmno", line.prefix = "klmno abcde fghij";
    return decode::Input::kReady;
  };
  std::vector<TranslatedLine> found;
  translate_text({model, tokenizers}, config, next, [&](const Translated& t) { found = t.best; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].text.starts_with("klmno abcde fghij")) << found[0].text;
  EXPECT_EQ(found[0].alignment, (std::vector<WordPair>{{2, 0}, {0, 1}, {1, 2}}));
}

models::EncoderDecoder small_model(int64_t vocabulary, nn::PositionKind positions) {
  models::ModelConfig config;
  config.encoder.layers = 1;
  config.encoder.d_model = 16;
  config.encoder.heads = 2;
  config.encoder.d_ff = 16;
  config.encoder.positions.kind = positions;
  config.encoder.positions.max_length = 24;
  config.decoder = config.encoder;
  config.vocabulary = config.source_vocabulary = vocabulary;
  return models::EncoderDecoder(config, 5);
}

TEST(Translate, LinesBeyondALearnedTableAreSplit) {
  const models::EncoderDecoder model = small_model(259, nn::PositionKind::kLearned);
  const text::TokenizerPair tokenizers{bytes(), bytes(), true};
  TranslateConfig config;
  config.stream.search.beam = 2;
  EXPECT_EQ(translate({model, tokenizers}, {repeated("고양이 ", 40), "a", ""}, config).size(), 3u);
  EXPECT_THROW(score_pairs({model, tokenizers}, {{"a", "b"}, {"a", repeated("고양이 ", 40)}}), FileError);
  config.long_lines = LongLines::kRefuse;
  EXPECT_THROW(translate({model, tokenizers}, {repeated("고양이 ", 40)}, config), FileError);
}

TEST(Translate, IdsThatNoPieceHasAreNotSaid) {
  const models::EncoderDecoder model = small_model(4000, nn::PositionKind::kSinusoidal);
  const text::TokenizerPair tokenizers{bytes(), bytes(), true};
  TranslateConfig config;
  config.stream.search = {.beam = 1, .sample = true};
  EXPECT_EQ(translate({model, tokenizers}, Texts(20, "a b"), config).size(), 20u);
}

TEST(Translate, ATranslationIsOneLine) {
  TranslateConfig config;
  config.stream.search = {.beam = 1, .max_length = 400, .sample = true};
  config.stream.search.sampling.temperature = 100;  // any byte, as likely as any other
  size_t said = 0;
  for (const auto& tokenizer : {bytes(), trained({"the cat saw", "a dog"})}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      config.stream.search.sampling.seed = seed;
      const models::EncoderDecoder fits = small_model(tokenizer->size(), nn::PositionKind::kSinusoidal);
      for (const std::string& line : translate({fits, {tokenizer, tokenizer, true}}, {"a b", "c"}, config)) {
        said += line.size();
        EXPECT_EQ(line.find_first_of("\n\r"), std::string::npos);
      }
    }
  }
  EXPECT_GT(said, 4000u);
}

// Of 24 tokens each, while 512 are read at once where nothing is known.
TEST(Translate, LinesAreSplitWhereTrainingEnded) {
  models::EncoderDecoder model = small_model(259, nn::PositionKind::kSinusoidal);
  const text::TokenizerPair tokenizers{bytes(), bytes(), true};
  const std::string line = repeated("고양이 ", 30);
  TranslateConfig refuse;
  refuse.long_lines = LongLines::kRefuse;
  EXPECT_EQ(translate({model, tokenizers}, {line}, refuse).size(), 1u);
  model.config.trained_length = 24;
  EXPECT_THROW(translate({model, tokenizers}, {line}, refuse), FileError);
  const std::string split = translate({model, tokenizers}, {line})[0];
  TranslateConfig told;
  told.max_source = 24;
  EXPECT_EQ(split, translate({model, tokenizers}, {line}, told)[0]);
  told.max_source = 512;
  EXPECT_NE(split, translate({model, tokenizers}, {line}, told)[0]);
}

std::vector<TranslatedLine> found_for(const TranslatorView& translator, const std::string& text,
                                      const TranslateConfig& config) {
  std::vector<TranslatedLine> found;
  bool asked = false;
  const auto next = [&](SourceLine& line, bool) {
    if (std::exchange(asked, true)) return decode::Input::kEnd;
    line.text = text;
    return decode::Input::kReady;
  };
  translate_text(translator, config, next, [&](const Translated& t) { found = t.best; });
  return found;
}

// As if it had been translated whole: the probabilities of all parts, by the length of them all.
TEST(Translate, ALineOfPartsIsScoredAsOne) {
  const models::EncoderDecoder model = small_model(259, nn::PositionKind::kSinusoidal);
  const text::TokenizerPair tokenizers{bytes(), bytes(), true};
  for (const double penalty : {0.0, 0.6, 1.0}) {
    TranslateConfig config;
    config.stream.search = {.beam = 2, .nbest = 2, .length_penalty = penalty};
    config.max_source = 13;
    double log_probability = 0;
    double tokens = 0;
    for (const char* part : {"the cat saw.", " a dog ran.", " he slept"}) {
      const TranslatedLine one = found_for({model, tokenizers}, part, config)[0];
      log_probability += one.log_probability;
      const double length = static_cast<double>(one.ids.size()) + one.ended;
      EXPECT_DOUBLE_EQ(one.score, one.log_probability / std::pow(length, penalty));
      tokens += length;
    }
    const TranslatedLine whole = found_for({model, tokenizers}, "the cat saw. a dog ran. he slept", config)[0];
    EXPECT_DOUBLE_EQ(whole.log_probability, log_probability);
    EXPECT_DOUBLE_EQ(whole.score, log_probability / std::pow(tokens, penalty));
  }
}

// Whatever the model says, it is this sign.
struct OneSign : text::Tokenizer {
  std::string sign;
  explicit OneSign(std::string s) : sign(std::move(s)) {}
  std::vector<int32_t> encode(std::string_view text) const override { return bytes()->encode(text); }
  std::string decode(std::span<const int32_t> ids) const override {
    return repeated(sign, static_cast<int>(ids.size()));
  }
  std::string piece(int32_t /*id*/) const override { return sign; }
  std::string bytes(int32_t /*id*/) const override { return sign; }
  int64_t size() const override { return 259; }
  text::SpecialIds special() const override { return {}; }

 private:
  static std::shared_ptr<const text::Tokenizer> bytes() { return text::byte_tokenizer(); }
};

TEST(Translate, PartsMeetAsTheirWritingHasIt) {
  models::EncoderDecoder model = small_model(259, nn::PositionKind::kSinusoidal);
  model.config.alignment = {0, 0};
  for (const auto& [sign, blanks] : {std::pair("猫", 0), std::pair("고", 2), std::pair("x", 2), std::pair(" x", 12)}) {
    const text::TokenizerPair tokenizers{bytes(), std::make_shared<OneSign>(sign), false};
    TranslateConfig config;
    config.stream.search = {.beam = 1, .max_length = 4};
    config.max_source = 13, config.alignment = true;
    const TranslatedLine found = found_for({model, tokenizers}, "the cat saw. a dog ran. he slept", config)[0];
    EXPECT_EQ(std::count(found.text.begin(), found.text.end(), ' '), blanks) << found.text;
    // A word that goes on in the next part is one.
    ASSERT_EQ(found.alignment.size(), text::split_blanks(found.text).size()) << found.text;
    for (size_t word = 0; word < found.alignment.size(); ++word)
      EXPECT_EQ(found.alignment[word].second, static_cast<int64_t>(word));
  }
}

TEST(Translate, WithoutNumbersThereIsALineAllTheSame) {
  const models::EncoderDecoder model = small_model(259, nn::PositionKind::kSinusoidal);
  model.parameters.values()[model.parameters.arena_size() - 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(translate({model, {bytes(), bytes(), true}}, {"a", "", "b"}), (Texts{"", "", ""}));
}

TEST(Translate, ALineOfAnyBlanksIsEmpty) {
  const models::EncoderDecoder model = small_model(259, nn::PositionKind::kSinusoidal);
  EXPECT_EQ(translate({model, {bytes(), bytes(), true}}, {" \t\u3000"}), Texts{""});
}

}  // namespace
}  // namespace heed::tasks
