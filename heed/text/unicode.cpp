#include "heed/text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "heed/base/error.h"

namespace heed::text {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t c = kReplacement;
  size_t bytes = 1;  // of the character, or of the longest start of one that goes wrong
  bool valid = false;
};

// The bytes that may follow a lead byte: its second byte lies in a range of its own (Unicode 15, table 3-7).
struct Lead {
  size_t length = 0;  // 0: never starts a character
  uint8_t low = 0x80, high = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte < 0xF0)
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80), static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80), static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  return {};
}

Decoded decode_first(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {};
  if (lead.length == 1) return {byte(0), 1, true};
  char32_t c = byte(0) & (0x7Fu >> lead.length);
  for (size_t i = 1; i < lead.length; ++i) {
    const bool good =
        i < text.size() && byte(i) >= (i == 1 ? lead.low : 0x80) && byte(i) <= (i == 1 ? lead.high : 0xBF);
    if (!good) return {kReplacement, i, false};
    c = c << 6 | (byte(i) & 0x3Fu);
  }
  return {c, lead.length, true};
}

icu::UnicodeString units_of(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

// Where the last character of a text begins.
size_t last_start(std::string_view text) {
  size_t start = text.size() - 1;
  while (start > 0 && text.size() - start < 4 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

}  // namespace

size_t unfinished_bytes(std::string_view text) {
  for (size_t n = std::min<size_t>(3, text.size()); n > 0; --n) {
    const std::string_view end = text.substr(text.size() - n);
    const size_t length = lead_of(static_cast<uint8_t>(end[0])).length;
    if (length > n && decode_first(end).bytes == n) return n;
  }
  return 0;
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    if (!first.valid) return false;
    text.remove_prefix(first.bytes);
  }
  return true;
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    if (first.valid) {
      out.append(text.substr(0, first.bytes));
    } else {
      append_utf8(out, kReplacement);
    }
    text.remove_prefix(first.bytes);
  }
  return out;
}

std::u32string to_code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    out += first.c;
    text.remove_prefix(first.bytes);
  }
  return out;
}

void append_utf8(std::string& text, char32_t c) {
  const auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | c >> 6);
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | c >> 18);
    add(0x80 | (c >> 12 & 0x3F));
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  }
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

std::string to_nfc(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  std::string composed;
  icu::StringByteSink<std::string> sink(&composed);
  if (U_SUCCESS(status)) {
    nfc->normalizeUTF8(0, {text.data(), static_cast<int32_t>(text.size())}, sink, nullptr, status);
  }
  if (U_FAILURE(status)) fail("[unicode] {}", u_errorName(status));
  return composed;
}

std::string to_lower(std::string_view text) {
  std::string out;
  units_of(text).toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  units_of(text).toUpper(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

bool is_blank(char32_t c) {
  return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const Decoded c = decode_first(text.substr(at));
    if (is_blank(c.c)) {
      if (at > begin) words.push_back(text.substr(begin, at - begin));
      begin = at + c.bytes;
    }
    at += c.bytes;
  }
  if (at > begin) words.push_back(text.substr(begin));
  return words;
}

std::string_view trim_start(std::string_view text) {
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    if (!is_blank(first.c)) break;
    text.remove_prefix(first.bytes);
  }
  return text;
}

std::string_view trim_end(std::string_view text) {
  while (!text.empty()) {
    const size_t start = last_start(text);
    const Decoded last = decode_first(text.substr(start));
    if (!is_blank(last.c) || start + last.bytes != text.size()) break;
    text = text.substr(0, start);
  }
  return text;
}

bool is_blank(std::string_view text) { return trim_start(text).empty(); }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

int columns(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  constexpr uint32_t kJoin = U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK;
  const auto syllable = static_cast<UHangulSyllableType>(u_getIntPropertyValue(code, UCHAR_HANGUL_SYLLABLE_TYPE));
  constexpr char32_t kSoftHyphen = 0xad;
  if (syllable == U_HST_VOWEL_JAMO || syllable == U_HST_TRAILING_JAMO) return 0;
  if ((U_GET_GC_MASK(code) & kJoin) != 0 && c != kSoftHyphen) return 0;
  const int width = u_getIntPropertyValue(code, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

Writing writing_of(char32_t c) {
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(static_cast<UChar32>(c), &status)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_BOPOMOFO:
      return Writing::kWithoutBlanks;
    case USCRIPT_COMMON:  // theirs are as wide as their letters: 。「」ー
      return columns(c) == 2 && !is_symbol(c) ? Writing::kWithoutBlanks : Writing::kAny;
    case USCRIPT_INHERITED:
      return Writing::kAny;
    default:
      return Writing::kWithBlanks;
  }
}

bool is_punctuation(char32_t c) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_P_MASK) != 0; }
bool is_symbol(char32_t c) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_S_MASK) != 0; }
bool is_number(char32_t c) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & U_GC_N_MASK) != 0; }

}  // namespace heed::text
