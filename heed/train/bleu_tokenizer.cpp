#include "heed/train/bleu_tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "heed/base/error.h"
#include "heed/text/unicode.h"

namespace heed::train {
namespace {

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
// ASCII punctuation but for the stops, the dash and the apostrophe; the blank counts too, as mteval has it.
bool is_western_mark(char32_t c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

// Blanks around every character that is a mark.
template <class Line, class Mark>
Line set_apart(const Line& line, Mark mark) {
  Line out;
  out.reserve(line.size() * 2);
  for (const auto c : line) {
    if (mark(c)) {
      out += ' ';
      out += c;
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

// What a pair of neighbours becomes, in the words of the regular expressions that this stands for.
enum class Blanks { kAroundSecond, kAroundFirst };  // "\1 \2 " and " \1 \2"

// Pairs are taken from the left and do not overlap: the second of a pair is not the first of the next.
template <class Line, class First, class Second>
Line set_pairs_apart(const Line& line, First first, Second second, Blanks blanks) {
  Line out;
  out.reserve(line.size() * 2);
  size_t i = 0;
  while (i < line.size()) {
    if (i + 1 == line.size() || !first(line[i]) || !second(line[i + 1])) {
      out += line[i++];
      continue;
    }
    if (blanks == Blanks::kAroundFirst) out += ' ';
    out += line[i];
    out += ' ';
    out += line[i + 1];
    if (blanks == Blanks::kAroundSecond) out += ' ';
    i += 2;
  }
  return out;
}

std::string words_joined(std::string_view line) {
  std::string out;
  for (const std::string_view word : text::split_blanks(line)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

// Bytes will do: a character beyond ASCII is as little a digit or a stop as any byte of it.
std::string western(std::string line) {
  const auto byte = [](char c) { return static_cast<char32_t>(static_cast<unsigned char>(c)); };
  const auto stop = [&](char c) { return is_stop(byte(c)); };
  const auto digit = [&](char c) { return is_digit(byte(c)); };
  const auto no_digit = [&](char c) { return !is_digit(byte(c)); };
  line = set_apart(line, [&](char c) { return is_western_mark(byte(c)); });
  line = set_pairs_apart(line, no_digit, stop, Blanks::kAroundSecond);
  line = set_pairs_apart(line, stop, no_digit, Blanks::kAroundFirst);
  line = set_pairs_apart(
      line, digit, [](char c) { return c == '-'; }, Blanks::kAroundSecond);
  return words_joined(line);
}

std::string tokenized_13a(std::string_view text) {
  std::string line(text);
  text::replace_all(line, "<skipped>", "");
  text::replace_all(line, "-\n", "");
  text::replace_all(line, "\n", " ");
  text::replace_all(line, "&quot;", "\"");
  text::replace_all(line, "&amp;", "&");
  text::replace_all(line, "&lt;", "<");
  text::replace_all(line, "&gt;", ">");
  return western(" " + line + " ");
}

std::string tokenized_intl(std::string_view text) {
  std::u32string line = text::to_code_points(text);
  const auto no_number = [](char32_t c) { return !text::is_number(c); };
  line = set_pairs_apart(line, no_number, text::is_punctuation, Blanks::kAroundSecond);
  line = set_pairs_apart(line, text::is_punctuation, no_number, Blanks::kAroundFirst);
  line = set_apart(line, text::is_symbol);
  return words_joined(text::to_utf8(line));
}

// Ranges of ideographs, their marks and signs. Two of sacrebleu's ranges are spelled with five hexadecimal digits where
// Python reads four, so that they begin at U+2000 and U+2F80 and hold nearly all of what lies up to U+2FA1 and U+2A6D:
// "\u2000" + "0" to "\u2a6d" + "6" compares as text. A single character is in it from U+2001 to U+2A6D.
constexpr std::array<std::pair<char32_t, char32_t>, 22> kChinese = {
    {{0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
     {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
     {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
     {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF}}};

std::string tokenized_zh(std::string_view text) {
  const std::u32string line = text::to_code_points(text::trim_start(text::trim_end(text)));
  return western(text::to_utf8(set_apart(line, [](char32_t c) {
    return std::any_of(kChinese.begin(), kChinese.end(), [c](const auto& r) { return c >= r.first && c <= r.second; });
  })));
}

std::string tokenized_char(std::string_view text) {
  std::string out;
  for (const char32_t c : text::to_code_points(text)) {
    text::append_utf8(out, c);
    out += ' ';
  }
  return out;
}

}  // namespace

const std::vector<std::string>& bleu_tokens_names() {
  static const std::vector<std::string> names = {"13a", "none", "char", "intl", "zh"};
  return names;
}

const std::string& name_of(BleuTokens tokens) { return bleu_tokens_names()[static_cast<size_t>(tokens)]; }

BleuTokens bleu_tokens(const std::string& name) {
  const std::vector<std::string>& names = bleu_tokens_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const std::string near = nearest(name, names);
    if (!near.empty()) fail("[bleu] unknown tokenizer '{}': did you mean '{}'?", name, near);
    fail("[bleu] unknown tokenizer '{}', expected one of {}", name, fmt::join(names, ", "));
  }
  return static_cast<BleuTokens>(found - names.begin());
}

std::string bleu_tokenized(std::string_view line, BleuTokens tokens) {
  switch (tokens) {
    case BleuTokens::k13a:
      return tokenized_13a(line);
    case BleuTokens::kNone:
      return std::string(line);
    case BleuTokens::kChar:
      return tokenized_char(line);
    case BleuTokens::kIntl:
      return tokenized_intl(line);
    case BleuTokens::kZh:
      return tokenized_zh(line);
  }
  return {};
}

}  // namespace heed::train
