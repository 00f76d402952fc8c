#include "heed/text/template_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

constexpr int kDeepest = 100;  // expressions in expressions, blocks in blocks: whoever walks them recurses

}  // namespace

void TemplateReader::unexpected(const std::string& expected) const {
  const TemplateToken& t = now();
  std::string found = in_quotes(t.text);
  if (t.kind == Kind::kBlockBegin) found = "'{%'";
  if (t.kind == Kind::kBlockEnd) found = "'%}'";
  if (t.kind == Kind::kPrintEnd) found = "'}}'";
  if (t.kind == Kind::kText) found = "the end of the tag";
  if (t.kind == Kind::kEnd) found = "the end";
  wrong(t.place, found + ", expected " + expected);
}

void TemplateReader::need_sign(const char* sign) {
  if (!take_sign(sign)) unexpected(fmt::format("'{}'", sign));
}
void TemplateReader::need_word(const char* word) {
  if (!take_word(word)) unexpected(fmt::format("'{}'", word));
}
std::string TemplateReader::need_name() {
  if (now().kind != Kind::kName) unexpected("a name");
  return tokens_[at_++].text;
}

TemplateReader::Deeper::Deeper(TemplateReader& r) : reader(r) {
  if (++reader.depth_ > kDeepest) reader.wrong(reader.now().place, "nested too deep");
}

// --- Expressions, the loosest first ---

TemplateReader::Pointer TemplateReader::make(Expression e) const {
  for (const Pointer& part : e.parts) {
    if (part) e.depth = std::max(e.depth, part->depth + 1);
  }
  if (e.depth > kDeepest) wrong(e.place, "nested too deep");
  return std::make_unique<const Expression>(std::move(e));
}
TemplateReader::Pointer TemplateReader::make(Expression::Kind kind, Place place, std::string name, Pointer a,
                                             Pointer b) const {
  Expression e{kind, place, std::move(name)};
  e.parts.push_back(std::move(a));
  if (b) e.parts.push_back(std::move(b));
  return make(std::move(e));
}

TemplateReader::Pointer TemplateReader::read_tuple() {
  const Place place = now().place;
  Pointer first = read_expression();
  if (!is_sign(",")) return first;
  Expression list{Expression::Kind::kList, place};
  list.parts.push_back(std::move(first));
  while (take_sign(",")) {
    if (is_sign(")") || now().kind == Kind::kPrintEnd || now().kind == Kind::kBlockEnd) break;
    list.parts.push_back(read_expression());
  }
  return make(std::move(list));
}

TemplateReader::Pointer TemplateReader::read_expression() {
  const Deeper deeper(*this);
  Pointer value = read_or();
  while (is_word("if")) {
    Expression choice{Expression::Kind::kChoice, tokens_[at_++].place};
    choice.parts.push_back(std::move(value));
    choice.parts.push_back(read_or());
    choice.parts.push_back(take_word("else") ? read_expression() : nullptr);
    value = make(std::move(choice));
  }
  return value;
}

TemplateReader::Pointer TemplateReader::read_or() {
  Pointer left = read_and();
  while (is_word("or")) {
    const Place place = tokens_[at_++].place;
    left = make(Expression::Kind::kOr, place, "", std::move(left), read_and());
  }
  return left;
}

TemplateReader::Pointer TemplateReader::read_and() {
  Pointer left = read_not();
  while (is_word("and")) {
    const Place place = tokens_[at_++].place;
    left = make(Expression::Kind::kAnd, place, "", std::move(left), read_not());
  }
  return left;
}

TemplateReader::Pointer TemplateReader::read_not() {
  const Deeper deeper(*this);
  const Place place = now().place;
  return take_word("not") ? make(Expression::Kind::kNot, place, "", read_not()) : read_comparison();
}

std::string TemplateReader::take_comparison() {
  for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (take_sign(sign)) return sign;
  }
  if (take_word("in")) return "in";
  if (is_word("not") && next().kind == Kind::kName && next().text == "in") {
    at_ += 2;
    return "not in";
  }
  return "";
}

TemplateReader::Pointer TemplateReader::read_comparison() {
  const Place place = now().place;
  Pointer first = read_sum();
  std::string sign = take_comparison();
  if (sign.empty()) return first;
  Expression all{Expression::Kind::kComparison, place};
  all.parts.push_back(std::move(first));
  for (; !sign.empty(); sign = take_comparison()) {
    all.names.push_back(sign);
    all.parts.push_back(read_sum());
  }
  return make(std::move(all));
}

template <size_t N, class Read>
TemplateReader::Pointer TemplateReader::read_chain(const std::array<const char*, N>& signs, Expression::Kind kind,
                                                   Read read) {
  Pointer left = read();
  while (now().kind == Kind::kSign && std::find(signs.begin(), signs.end(), now().text) != signs.end()) {
    const TemplateToken& sign = tokens_[at_++];
    left = make(kind, sign.place, sign.text, std::move(left), read());
  }
  return left;
}
TemplateReader::Pointer TemplateReader::read_sum() {
  return read_chain(std::array{"+", "-"}, Expression::Kind::kArithmetic, [this] { return read_joined(); });
}
TemplateReader::Pointer TemplateReader::read_joined() {
  return read_chain(std::array{"~"}, Expression::Kind::kConcatenation, [this] { return read_product(); });
}
TemplateReader::Pointer TemplateReader::read_product() {
  return read_chain(std::array{"*", "/", "//", "%"}, Expression::Kind::kArithmetic,
                    [this] { return read_filters(read_signed()); });
}

TemplateReader::Pointer TemplateReader::read_signed() {
  const Deeper deeper(*this);
  const TemplateToken& sign = now();
  if (take_sign("-") || take_sign("+")) return make(Expression::Kind::kSign, sign.place, sign.text, read_signed());
  return read_behind(read_primary());
}

TemplateReader::Pointer TemplateReader::read_primary() {
  const TemplateToken& t = now();
  if (take_sign("(")) {
    Pointer inner = is_sign(")") ? make({Expression::Kind::kList, t.place}) : read_tuple();
    need_sign(")");
    return inner;
  }
  if (is_sign("[")) return read_list();
  if (is_sign("{")) return read_dict();
  Expression literal{Expression::Kind::kLiteral, t.place};
  if (t.kind == Kind::kString) {
    std::string text;
    while (now().kind == Kind::kString) text += tokens_[at_++].text;  // one after the other is one text
    literal.value = Value::text(std::move(text));
    return make(std::move(literal));
  }
  if (t.kind != Kind::kName && t.kind != Kind::kWhole && t.kind != Kind::kFloat) unexpected("a value");
  ++at_;
  if (t.kind == Kind::kWhole) {
    int64_t number = 0;
    std::from_chars(t.text.data(), t.text.data() + t.text.size(), number);
    literal.value = {number};
  } else if (t.kind == Kind::kFloat) {
    literal.value = {std::strtod(t.text.c_str(), nullptr)};
  } else if (t.text == "true" || t.text == "True" || t.text == "false" || t.text == "False") {
    literal.value = {t.text == "true" || t.text == "True"};
  } else if (t.text == "none" || t.text == "None") {
    literal.value = Value::none();
  } else {
    return make({Expression::Kind::kName, t.place, t.text});
  }
  return make(std::move(literal));
}

TemplateReader::Pointer TemplateReader::read_list() {
  Expression list{Expression::Kind::kList, tokens_[at_++].place};
  while (!is_sign("]")) {
    list.parts.push_back(read_expression());
    if (!is_sign("]")) need_sign(",");
  }
  need_sign("]");
  return make(std::move(list));
}

TemplateReader::Pointer TemplateReader::read_dict() {
  Expression dict{Expression::Kind::kDict, tokens_[at_++].place};
  while (!is_sign("}")) {
    dict.parts.push_back(read_expression());
    need_sign(":");
    dict.parts.push_back(read_expression());
    if (!is_sign("}")) need_sign(",");
  }
  need_sign("}");
  return make(std::move(dict));
}

// ".name", "[index]", "(arguments)"
TemplateReader::Pointer TemplateReader::read_behind(Pointer value) {
  while (true) {
    const Place place = now().place;
    if (take_sign(".")) {
      value = make(Expression::Kind::kAttribute, place, need_name(), std::move(value));
    } else if (take_sign("[")) {
      value = read_item(std::move(value), place);
    } else if (is_sign("(")) {
      value = read_call(std::move(value), place);
    } else {
      return value;
    }
  }
}

TemplateReader::Pointer TemplateReader::read_item(Pointer value, Place place) {
  Expression e{Expression::Kind::kSlice, place};
  e.parts.push_back(std::move(value));
  const auto bound = [this] { return is_sign(":") || is_sign("]") ? nullptr : read_expression(); };
  e.parts.push_back(bound());
  if (!is_sign(":")) {
    e.kind = Expression::Kind::kItem;
    if (!e.parts[1]) unexpected("an index");
  } else {
    for (int i = 0; i < 2; ++i) e.parts.push_back(take_sign(":") ? bound() : nullptr);
  }
  need_sign("]");
  return make(std::move(e));
}

void TemplateReader::read_arguments(Expression& call) {
  need_sign("(");
  while (!is_sign(")")) {
    const bool named = now().kind == Kind::kName && next().kind == Kind::kSign && next().text == "=";
    if (named) {
      call.names.push_back(need_name());
      need_sign("=");
    } else if (!call.names.empty()) {
      unexpected("a named argument behind another");
    }
    call.parts.push_back(read_expression());
    if (!is_sign(")")) need_sign(",");
  }
  need_sign(")");
}

TemplateReader::Pointer TemplateReader::read_call(Pointer callee, Place place) {
  Expression call{Expression::Kind::kCall, place};
  if (callee->kind != Expression::Kind::kAttribute && callee->kind != Expression::Kind::kName)
    wrong(place, "a call of what has no name");
  call.name = callee->name;
  call.parts.push_back(std::move(callee));
  read_arguments(call);
  return make(std::move(call));
}

// "| filter" and "is test"
TemplateReader::Pointer TemplateReader::read_filters(Pointer value) {
  while (true) {
    const Place place = now().place;
    if (take_sign("|")) {
      Expression filter{Expression::Kind::kFilter, place, need_name()};
      if (!is_template_filter(filter.name)) wrong(place, "a filter that heed does not know: " + in_quotes(filter.name));
      filter.parts.push_back(std::move(value));
      if (is_sign("(")) read_arguments(filter);
      value = make(std::move(filter));
    } else if (take_word("is")) {
      const bool negated = take_word("not");
      value = read_test(std::move(value), place);
      if (negated) value = make(Expression::Kind::kNot, place, "", std::move(value));
    } else {
      return value;
    }
  }
}

TemplateReader::Pointer TemplateReader::read_test(Pointer value, Place place) {
  Expression test{Expression::Kind::kTest, place, need_name()};
  if (!is_template_test(test.name)) wrong(place, "a test that heed does not know: " + in_quotes(test.name));
  test.parts.push_back(std::move(value));
  constexpr std::array kNoArgument = {"else", "or", "and", "is", "if", "not", "in"};
  const bool word =
      now().kind == Kind::kName && std::find(kNoArgument.begin(), kNoArgument.end(), now().text) == kNoArgument.end();
  if (is_sign("(")) {
    read_arguments(test);
  } else if (word || now().kind == Kind::kString || now().kind == Kind::kWhole || is_sign("[")) {
    test.parts.push_back(read_behind(read_primary()));
  }
  return make(std::move(test));
}

}  // namespace heed::text
