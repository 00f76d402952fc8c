#include "heed/text/template_lexer.h"

#include <algorithm>
#include <array>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using Token = TemplateToken;
using Kind = TemplateToken::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Jinja reads lines that end in "\n", and drops the last one's end.
std::string with_plain_lines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& label) : source_(with_plain_lines(source)), label_(label) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      add_text(tag);
      if (tag == source_.size()) break;
      const char kind = source_[tag + 1];
      at_ = tag + 2 + has_sign(tag + 2);
      kind == '#' ? skip_comment(tag) : read_tag(tag, kind);
    }
    add(Kind::kEnd, "", source_.size());
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void wrong(size_t at, const std::string& what) { fail_template(label_, place_of(at), what); }

  // Offsets come in order, but for those of errors.
  Place place_of(size_t at) {
    if (at < counted_) counted_ = 0, place_ = {};
    for (; counted_ < at; ++counted_) {
      const bool ends = source_[counted_] == '\n';
      place_.line += ends;
      place_.column = ends ? 1 : place_.column + 1;
    }
    return place_;
  }

  void add(Kind kind, std::string text, size_t at) { tokens_.push_back({kind, std::move(text), place_of(at)}); }

  size_t next_tag() const {
    for (size_t i = at_; i + 1 < source_.size(); ++i) {
      if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) return i;
    }
    return source_.size();
  }

  bool has_sign(size_t at) const { return at < source_.size() && (source_[at] == '-' || source_[at] == '+'); }

  // The text before a tag. "-" takes its blanks; a block that stands alone in its line takes those of the line.
  void add_text(size_t tag) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const bool tags = tag < source_.size(), prints = tags && source_[tag + 1] == '{';
    if (tags && has_sign(tag + 2)) {
      if (source_[tag + 2] == '-') text = trim_end(text);
    } else if (tags && !prints) {
      const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || starts_line_) && text.find_first_not_of(" \t", line) == text.npos) text = text.substr(0, line);
    }
    if (!text.empty()) add(Kind::kText, std::string(text), at_);
  }

  // Behind the two characters that end a tag, where the sign before them and the kind of the tag say what goes with it.
  void end_tag(size_t behind, char sign, bool prints) {
    at_ = behind;
    const std::string_view rest = std::string_view(source_).substr(at_);
    if (sign == '-') {
      at_ += rest.size() - trim_start(rest).size();
    } else if (sign != '+' && !prints && rest.starts_with('\n')) {
      ++at_;
    }
    starts_line_ = at_ > behind && source_[at_ - 1] == '\n';
  }

  void skip_comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) wrong(tag, "a comment without end, expected #}");
    end_tag(end + 2, end > at_ ? source_[end - 1] : ' ', false);
  }

  void read_tag(size_t tag, char kind) {
    const bool prints = kind == '{';
    const std::string close = prints ? "}}" : "%}";
    add(prints ? Kind::kPrintBegin : Kind::kBlockBegin, "", tag);
    open_.clear();
    while (true) {
      while (at_ < source_.size() && is_space(source_[at_])) ++at_;
      if (at_ == source_.size()) wrong(tag, "a tag without end, expected " + close);
      const bool sign = source_[at_] == '-' || (!prints && source_[at_] == '+');
      if (open_.empty() && source_.compare(at_ + sign, 2, close) == 0) {
        add(prints ? Kind::kPrintEnd : Kind::kBlockEnd, "", at_);
        return end_tag(at_ + sign + 2, sign ? source_[at_] : ' ', prints);
      }
      read_token();
    }
  }

  void read_token() {
    const char c = source_[at_];
    const size_t begin = at_;
    if (starts_name(c)) {
      while (at_ < source_.size() && (starts_name(source_[at_]) || is_digit(source_[at_]))) ++at_;
      add(Kind::kName, source_.substr(begin, at_ - begin), begin);
    } else if (is_digit(c)) {
      read_number();
    } else if (c == '\'' || c == '"') {
      read_string();
    } else {
      read_sign();
    }
  }

  void read_number() {
    const size_t begin = at_;
    const auto digits = [&] {
      while (at_ < source_.size() && is_digit(source_[at_])) ++at_;
    };
    digits();
    const bool fraction = at_ + 1 < source_.size() && source_[at_] == '.' && is_digit(source_[at_ + 1]);
    if (fraction) ++at_, digits();
    constexpr size_t kMostDigits = 18;
    if (at_ - begin > kMostDigits) wrong(begin, "a number of more than 18 digits");
    add(fraction ? Kind::kFloat : Kind::kWhole, source_.substr(begin, at_ - begin), begin);
  }

  // Of \x41 and \uAC00 the character.
  void add_coded(std::string& text, size_t digits) {
    char32_t c = 0;
    for (size_t i = 0; i < digits; ++i) {
      constexpr std::string_view kHex = "0123456789abcdef0123456789ABCDEF";
      const size_t value = ++at_ < source_.size() ? kHex.find(source_[at_]) : kHex.npos;
      if (value == kHex.npos) wrong(std::min(at_, source_.size()), "a character's code is broken");
      c = c * 16 + static_cast<char32_t>(value % 16);
    }
    append_utf8(text, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
  }

  void read_string() {
    const size_t begin = at_;
    const char quote = source_[at_];
    std::string text;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] != '\\') {
        text += source_[at_];
        continue;
      }
      if (++at_ == source_.size()) break;
      constexpr std::string_view kNames = "nrtabfv\\'\"", kMeanings = "\n\r\t\a\b\f\v\\'\"";
      const size_t known = kNames.find(source_[at_]);
      if (known != kNames.npos) {
        text += kMeanings[known];
      } else if (source_[at_] == 'x' || source_[at_] == 'u') {
        add_coded(text, source_[at_] == 'x' ? 2 : 4);
      } else if (source_[at_] != '\n') {  // a line that goes on
        text += std::string("\\") + source_[at_];
      }
    }
    if (at_ >= source_.size()) wrong(begin, "a text without its closing quote");
    ++at_;
    add(Kind::kString, std::move(text), begin);
  }

  void read_sign() {
    constexpr std::array<std::string_view, 25> kSigns = {"==", "!=", "<=", ">=", "//", "**", "+", "-", "*",
                                                         "/",  "%",  "~",  "|",  "(",  ")",  "[", "]", "{",
                                                         "}",  ",",  ":",  ".",  "=",  "<",  ">"};
    const std::string_view rest = std::string_view(source_).substr(at_);
    const auto* sign =
        std::find_if(kSigns.begin(), kSigns.end(), [&](std::string_view s) { return rest.starts_with(s); });
    if (sign == kSigns.end()) wrong(at_, "an unexpected " + in_quotes(rest.substr(0, 1)));
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (kOpen.find(*sign) != kOpen.npos) open_ += kClose[kOpen.find(*sign)];
    if (kClose.find(*sign) != kClose.npos) {
      if (!open_.ends_with(*sign)) wrong(at_, fmt::format("an unexpected '{}'", *sign));
      open_.pop_back();
    }
    add(Kind::kSign, std::string(*sign), at_);
    at_ += sign->size();
  }

  const std::string source_;
  const std::string& label_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool starts_line_ = true;  // what follows the last tag
  std::string open_;         // the brackets that are still to close: ends of tags are none inside of them
  size_t counted_ = 0;
  Place place_;
};

}  // namespace

std::vector<TemplateToken> template_tokens(std::string_view source, const std::string& label) {
  return Lexer(source, label).run();
}

}  // namespace heed::text
