// UTF-8 and the few facts about characters that tokenizers and metrics need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

// Well formed as Unicode says: no surrogates, no longer forms than needed, nothing above U+10FFFF.
bool valid_utf8(std::string_view text);
// Every piece that is not UTF-8 becomes one U+FFFD, as browsers and Python do it.
std::string replace_invalid(std::string_view text);
// Bytes at the end that are the start of a character and not yet the whole of it.
size_t unfinished_bytes(std::string_view text);

std::u32string to_code_points(std::string_view text);  // invalid pieces as U+FFFD
void append_utf8(std::string& text, char32_t c);
std::string to_utf8(std::u32string_view text);

std::string to_nfc(std::string_view text);    // accents joined to their letters where Unicode has such a letter
std::string to_lower(std::string_view text);  // full mapping, with the final sigma; no language of its own
std::string to_upper(std::string_view text);  // "ß" is "SS"

// What Python's str.split() splits at.
bool is_blank(char32_t c);
bool is_blank(std::string_view text);  // nothing but blanks, or nothing
std::vector<std::string_view> split_blanks(std::string_view text);
// Without the blanks at its start, and at its end.
std::string_view trim_start(std::string_view text);
std::string_view trim_end(std::string_view text);

void replace_all(std::string& text, std::string_view from, std::string_view to);

// Of a terminal: Hangul, kana, Chinese characters and emoji take two, marks that join the character before none.
int columns(char32_t c);

// Whether words of a character's writing stand apart by blanks: not those of Chinese and Japanese. Digits, emoji and marks
// of all languages tell nothing.
enum class Writing { kAny, kWithBlanks, kWithoutBlanks };
Writing writing_of(char32_t c);

// General categories P, S and N.
bool is_punctuation(char32_t c);
bool is_symbol(char32_t c);
bool is_number(char32_t c);

}  // namespace heed::text
