#include "heed/text/unicode.h"

#include <gtest/gtest.h>

namespace heed::text {
namespace {

const std::string kMark = "\xEF\xBF\xBD";  // U+FFFD

TEST(Unicode, KnowsValidText) {
  for (const std::string text :
       {"", "a", "é", "한", "👍", "\x7F", "\u07FF", "\u0800", "\uFFFF", "\U00010000", "\U0010FFFF"}) {
    EXPECT_TRUE(valid_utf8(text)) << text;
    EXPECT_EQ(replace_invalid(text), text);
    EXPECT_EQ(to_utf8(to_code_points(text)), text);
  }
  EXPECT_TRUE(valid_utf8(std::string_view("a\0b", 3)));
}

// The examples of Unicode 15, table 3-8 and beyond, as Python's errors="replace" answers them.
TEST(Unicode, ReplacesEachInvalidPieceOnce) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80", kMark},
      {"a\xFFz", "a" + kMark + "z"},
      {"\xC0\xAF", kMark + kMark},
      {"\xE0\x9F\xBF", kMark + kMark + kMark},
      {"\xED\xA0\x80", kMark + kMark + kMark},
      {"\xF4\x90\x80\x80", kMark + kMark + kMark + kMark},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", kMark + kMark + kMark + kMark + "A"},
      {"\xE2\x82", kMark},
      {"\xF0\x9F\x91", kMark},
      {"\xE2\x82\xAC\xE2\x82", "€" + kMark},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_FALSE(valid_utf8(text));
    EXPECT_EQ(replace_invalid(text), expected);
    EXPECT_EQ(to_utf8(to_code_points(text)), expected);
  }
}

TEST(Unicode, LowersCaseAsPythonDoes) {
  EXPECT_EQ(to_lower("ÀÉ Straße THE"), "àé straße the");
  EXPECT_EQ(to_lower("ΟΔΟΣ ΑΣ. Σ"), "οδος ας. σ");
  EXPECT_EQ(to_lower("İ"), "i\u0307");
  EXPECT_EQ(to_lower("한글 ẞ"), "한글 ß");
}

TEST(Unicode, SplitsAtEveryBlank) {
  EXPECT_EQ(split_blanks("  a\tb\u3000c\u00a0d \u2028"), (std::vector<std::string_view>{"a", "b", "c", "d"}));
  EXPECT_EQ(split_blanks("a\u200bb"), (std::vector<std::string_view>{"a\u200bb"}));
  EXPECT_TRUE(split_blanks(" \x1c\x85").size() == 1);  // a lone 0x85 is no character
  EXPECT_TRUE(split_blanks("").empty());
  EXPECT_EQ(trim_end("a b \u3000\n"), "a b");
  EXPECT_EQ(trim_end(" \u2003"), "");
  EXPECT_EQ(trim_start("\u3000 a "), "a ");
  EXPECT_EQ(trim_end("a\x80"), "a\x80");
  EXPECT_TRUE(is_blank("") && is_blank(" \t\u3000\u00a0"));
  EXPECT_FALSE(is_blank(" \u200b") || is_blank("\x80"));
}

TEST(Unicode, KnowsCategories) {
  EXPECT_TRUE(is_punctuation(U'.') && is_punctuation(U'。') && is_punctuation(U'«') && !is_punctuation(U'$'));
  EXPECT_TRUE(is_symbol(U'$') && is_symbol(U'€') && is_symbol(U'👍') && !is_symbol(U'.'));
  EXPECT_TRUE(is_number(U'7') && is_number(U'½') && is_number(U'Ⅷ') && !is_number(U'a'));
}

TEST(Unicode, KnowsWritingWithoutBlanks) {
  for (const char32_t c : std::u32string_view(U"猫ひカーㄅ。、「」！"))
    EXPECT_EQ(writing_of(c), Writing::kWithoutBlanks) << to_utf8({&c, 1});
  for (const char32_t c : {U'a', U'é', U'고', U'я', U'ع'}) EXPECT_EQ(writing_of(c), Writing::kWithBlanks);
  for (const char32_t c : {U'1', U'.', U'“', U'…', U' ', U'😀', char32_t{0x0301}})
    EXPECT_EQ(writing_of(c), Writing::kAny);
}

// Bytes one by one: what is not held back any more is what the whole would be.
TEST(Unicode, UnfinishedCharactersAreHeldBack) {
  const std::string kinds[] = {
      "a", "\xC3\xA9", "\xEA\xB3\xA0", "\xF0\x9F\x98\x80", "\xFF", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90", "\x80"};
  for (size_t a = 0; a < std::size(kinds); ++a) {
    for (size_t b = 0; b < std::size(kinds); ++b) {
      const std::string text = kinds[a] + kinds[b] + kinds[(a + 2 * b) % std::size(kinds)];
      std::string held, given;
      for (const char c : text) {
        held += c;
        const size_t ready = held.size() - unfinished_bytes(held);
        given += replace_invalid(held.substr(0, ready));
        held.erase(0, ready);
        EXPECT_LE(held.size(), 3u);
      }
      EXPECT_EQ(given + replace_invalid(held), replace_invalid(text));
      EXPECT_EQ(unfinished_bytes(replace_invalid(text)), 0u);
    }
  }
}

}  // namespace
}  // namespace heed::text
