// The expressions of a template, read from its tokens; the blocks around them are template_parser.cpp's.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/template_lexer.h"
#include "heed/text/template_syntax.h"

namespace heed::text {

class TemplateReader {
 protected:
  using Kind = TemplateToken::Kind;
  using Expression = TemplateExpression;
  using Pointer = TemplateExpression::Pointer;

  TemplateReader(std::string_view source, const std::string& label)
      : tokens_(template_tokens(source, label)), label_(label) {}

  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(Kind kind, std::string_view text) const { return now().kind == kind && now().text == text; }
  bool is_sign(std::string_view sign) const { return is(Kind::kSign, sign); }
  bool is_word(std::string_view word) const { return is(Kind::kName, word); }
  bool take(Kind kind, std::string_view text) {
    if (!is(kind, text)) return false;
    ++at_;
    return true;
  }
  bool take_sign(std::string_view sign) { return take(Kind::kSign, sign); }
  bool take_word(std::string_view word) { return take(Kind::kName, word); }

  [[noreturn]] void wrong(Place place, const std::string& what) const { fail_template(label_, place, what); }
  [[noreturn]] void unexpected(const std::string& expected) const;
  void need_sign(const char* sign);
  void need_word(const char* word);
  std::string need_name();

  // Counts how deep the parser is in itself.
  struct Deeper {
    explicit Deeper(TemplateReader& r);
    ~Deeper() { --reader.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    TemplateReader& reader;
  };

  // "a, b" is a list without brackets.
  Pointer read_tuple();
  Pointer read_expression();
  Pointer read_or();  // an expression without "if"

  std::vector<TemplateToken> tokens_;
  const std::string& label_;
  size_t at_ = 0;

 private:
  Pointer make(Expression e) const;
  Pointer make(Expression::Kind kind, Place place, std::string name, Pointer a, Pointer b = nullptr) const;
  Pointer read_and();
  Pointer read_not();
  std::string take_comparison();
  Pointer read_comparison();
  template <size_t N, class Read>
  Pointer read_chain(const std::array<const char*, N>& signs, Expression::Kind kind, Read read);
  Pointer read_sum();
  Pointer read_joined();
  Pointer read_product();
  Pointer read_signed();
  Pointer read_primary();
  Pointer read_list();
  Pointer read_dict();
  Pointer read_behind(Pointer value);
  Pointer read_item(Pointer value, Place place);
  void read_arguments(Expression& call);
  Pointer read_call(Pointer callee, Place place);
  Pointer read_filters(Pointer value);
  Pointer read_test(Pointer value, Place place);

  int depth_ = 0;
};

}  // namespace heed::text
