#include "heed/text/template_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {

void TemplateEvaluator::assign(ValueDict& scope, const std::string& name, Value value) {
  work_.scan(scope.size());
  for (auto& [known, old] : scope) {
    if (known == name) return void(old = std::move(value));
  }
  scope.emplace_back(name, std::move(value));
}

Value TemplateEvaluator::look_up(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    work_.scan(scope->size() + 1);
    for (const auto& [known, value] : *scope) {
      if (known == name) return value;
    }
  }
  return Value::undefined(name);
}

Value TemplateEvaluator::value(const Expression& e) {
  work_.step();
  Value made = compute(e);
  work_.at = e.place;
  return made;
}

Value TemplateEvaluator::compute(const Expression& e) {
  const auto part = [&](size_t i) { return value(*e.parts[i]); };
  switch (e.kind) {
    case Expression::Kind::kLiteral:
      return e.value;
    case Expression::Kind::kName:
      return look_up(e.name);
    case Expression::Kind::kList:
    case Expression::Kind::kDict:
      return collected(e);
    case Expression::Kind::kAttribute: {
      const Value of = part(0);
      work_.at = e.place;
      return attribute(of, e.name);
    }
    case Expression::Kind::kItem:
      return item(e);
    case Expression::Kind::kSlice:
      return slice(e);
    case Expression::Kind::kCall:
      return call(e);
    case Expression::Kind::kFilter:
    case Expression::Kind::kTest: {
      const Value first = part(0);
      const TemplateArguments given = arguments(e);
      work_.at = e.place;
      if (e.kind == Expression::Kind::kFilter) return call_template_filter(work_, e.name, first, given);
      return {call_template_test(work_, e.name, first, given)};
    }
    case Expression::Kind::kNot:
      return {!part(0).truth()};
    case Expression::Kind::kSign:
      return signed_value(part(0), e);
    case Expression::Kind::kArithmetic:
      return arithmetic(e);
    case Expression::Kind::kConcatenation: {
      const Value left = part(0), right = part(1);
      work_.at = e.place;
      return work_.text(work_.written(left) + work_.written(right));
    }
    case Expression::Kind::kAnd:
    case Expression::Kind::kOr: {
      Value left = part(0);
      return left.truth() == (e.kind == Expression::Kind::kOr) ? left : part(1);
    }
    case Expression::Kind::kComparison:
      return {compared(e)};
    case Expression::Kind::kChoice:
      if (value(*e.parts[1]).truth()) return part(0);
      return e.parts[2] ? part(2) : Value::undefined("value of an if without else");
  }
  return {};
}

Value TemplateEvaluator::collected(const Expression& e) {
  ValueList all;
  for (const Expression::Pointer& part : e.parts) all.push_back(value(*part));
  work_.at = e.place;
  if (e.kind == Expression::Kind::kList) return work_.list(std::move(all));
  ValueDict dict;
  for (size_t i = 0; i < all.size(); i += 2) assign(dict, work_.need_text(all[i], "a key"), all[i + 1]);
  return work_.dict(std::move(dict));
}

Value TemplateEvaluator::attribute(const Value& of, const std::string& name) {
  if (const auto* undefined = std::get_if<Value::Undefined>(&of.data))
    work_.wrong(fmt::format("{} is undefined, and its {} is asked for", in_quotes(undefined->name), in_quotes(name)));
  const Value::Dict* dict = of.as_dict();
  const Value* found = dict ? work_.find(*dict, name) : nullptr;
  return found ? *found : Value::undefined(name);
}

Value TemplateEvaluator::item(const Expression& e) {
  const Value of = value(*e.parts[0]), index = value(*e.parts[1]);
  work_.at = e.place;
  if (const std::string* name = index.as_text()) return attribute(of, *name);
  int64_t at = work_.need_whole(index, "an index");
  const ValueList* list = of.as_list() ? &of.as_list()->items : nullptr;
  const ValueList characters = of.as_text() ? work_.items_of(of) : ValueList{};
  if (of.as_text()) list = &characters;
  if (!list) work_.wrong(fmt::format("an item of what is {}, expected a list", of.kind()));
  const auto size = static_cast<int64_t>(list->size());
  if (at < 0) at += size;
  return at >= 0 && at < size ? (*list)[static_cast<size_t>(at)] : Value::undefined("item outside of the list");
}

Value TemplateEvaluator::slice(const Expression& e) {
  const Value of = value(*e.parts[0]);
  std::array<std::optional<int64_t>, 3> given;
  for (size_t i = 0; i < 3; ++i) {
    if (!e.parts[i + 1]) continue;
    const Value bound = value(*e.parts[i + 1]);
    if (!bound.is_none()) given[i] = work_.need_whole(bound, "a bound");
  }
  work_.at = e.place;
  const ValueList all = work_.items_of(of);
  const auto size = static_cast<int64_t>(all.size());
  const int64_t step = given[2].value_or(1);
  if (step == 0) work_.wrong("a slice by steps of 0");
  // As Python: what lies outside is the end nearby.
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<int64_t> n, int64_t otherwise) {
    return n ? std::clamp(*n < 0 ? *n + size : *n, least, most) : otherwise;
  };
  const int64_t begin = bound(given[0], step > 0 ? least : most), end = bound(given[1], step > 0 ? most : least);
  const int64_t stride = std::clamp(step, -size - 1, size + 1);
  ValueList taken;
  for (int64_t i = begin; stride > 0 ? i < end : i > end; i += stride) taken.push_back(all[static_cast<size_t>(i)]);
  if (!of.as_text()) return work_.list(std::move(taken));
  std::string text;
  for (const Value& c : taken) text += *c.as_text();
  return work_.text(std::move(text));
}

TemplateArguments TemplateEvaluator::arguments(const Expression& e) {
  TemplateArguments given{{}, e.names};
  for (size_t i = 1; i < e.parts.size(); ++i) given.values.push_back(value(*e.parts[i]));
  return given;
}

Value TemplateEvaluator::call(const Expression& e) {
  const Expression& callee = *e.parts[0];
  if (callee.kind == Expression::Kind::kAttribute) {
    const Value of = value(*callee.parts[0]);
    const TemplateArguments given = arguments(e);
    work_.at = e.place;
    return call_template_method(work_, e.name, of, given);
  }
  const TemplateArguments given = arguments(e);
  work_.at = e.place;
  if (e.name == "raise_exception") {
    const Value* message = given.find(0, "message");
    work_.wrong(message ? work_.written(*message) : "raised");
  }
  if (e.name == "namespace") return new_namespace(given);
  if (e.name == "range") return range(given);
  work_.wrong("a function that heed does not know: " + in_quotes(e.name));
}

Value TemplateEvaluator::new_namespace(const TemplateArguments& given) {
  if (given.unnamed() > 0) work_.wrong("a namespace of a value without name");
  const auto made = std::make_shared<Value::Namespace>();
  for (size_t i = 0; i < given.values.size(); ++i) assign(made->values.items, given.names[i], given.values[i]);
  made->values.depth = work_.dict(made->values.items).depth();  // checks and pays for it
  return {made};
}

Value TemplateEvaluator::range(const TemplateArguments& given) {
  std::vector<int64_t> bounds;
  for (const Value& bound : given.values) bounds.push_back(work_.need_whole(bound, "a bound"));
  if (bounds.empty() || bounds.size() > 2)
    work_.wrong(fmt::format("a range of {} bounds, expected 1 or 2", bounds.size()));
  const int64_t begin = bounds.size() == 2 ? bounds[0] : 0, end = bounds.back();
  ValueList all;
  for (int64_t i = begin; i < end; ++i) {
    work_.step();
    all.emplace_back().data = i;
  }
  return work_.list(std::move(all));
}

Value TemplateEvaluator::signed_value(const Value& of, const Expression& e) {
  work_.at = e.place;
  if (!of.is_number()) work_.wrong(fmt::format("a sign before what is {}, expected a number", of.kind()));
  if (of.is<double>()) return {e.name == "-" ? -number_of(of) : number_of(of)};
  const int64_t whole = work_.need_whole(of, "a number");
  return e.name == "+" ? Value{whole} : whole_result(0, whole, '-');
}

Value TemplateEvaluator::whole_result(int64_t a, int64_t b, char sign) {
  int64_t result = 0;
  const bool over = sign == '+'   ? __builtin_add_overflow(a, b, &result)
                    : sign == '-' ? __builtin_sub_overflow(a, b, &result)
                                  : __builtin_mul_overflow(a, b, &result);
  if (over) work_.wrong("a number beyond 64 bits");
  return {result};
}

Value TemplateEvaluator::arithmetic(const Expression& e) {
  const Value a = value(*e.parts[0]), b = value(*e.parts[1]);
  work_.at = e.place;
  if (a.is_number() && b.is_number()) return number(a, b, e.name);
  if (e.name == "+" && a.as_list() && b.as_list()) {
    ValueList both = work_.items_of(a);
    for (const Value& one : work_.items_of(b)) both.push_back(one);
    return work_.list(std::move(both));
  }
  if (e.name == "*" && a.as_text() && b.is<int64_t>()) return repeated(*a.as_text(), std::get<int64_t>(b.data));
  if (e.name != "+") work_.wrong(fmt::format("{} {} {}, which heed does not do", a.kind(), e.name, b.kind()));
  return work_.text(work_.need_text(a, "what stands before +") + work_.need_text(b, "what stands behind +"));
}

Value TemplateEvaluator::repeated(const std::string& text, int64_t times) {
  std::string all;
  for (int64_t i = 0; i < times; ++i) {
    work_.step();
    work_.pay(text.size());
    all += text;
  }
  return work_.text(std::move(all));
}

Value TemplateEvaluator::number(const Value& a, const Value& b, const std::string& sign) {
  const bool whole = !a.is<double>() && !b.is<double>();
  const double x = number_of(a), y = number_of(b);
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && y == 0) work_.wrong("a division by 0");
  if (sign == "/") return {x / y};
  if (!whole) {
    if (sign == "//") return {std::floor(x / y)};
    if (sign == "%") return {x - y * std::floor(x / y)};
    return {sign == "+" ? x + y : sign == "-" ? x - y : x * y};
  }
  const int64_t i = work_.need_whole(a, "a number"), j = work_.need_whole(b, "a number");
  if (!divides) return whole_result(i, j, sign[0]);
  if (j == -1) return sign == "%" ? Value{int64_t{0}} : whole_result(0, i, '-');
  // Python rounds down, and the rest has the sign of the divisor.
  const int64_t rest = i % j;
  const bool down = rest != 0 && (rest < 0) != (j < 0);
  return {sign == "%" ? rest + (down ? j : 0) : i / j - down};
}

bool TemplateEvaluator::compared(const Expression& e) {
  Value left = value(*e.parts[0]);
  for (size_t i = 0; i < e.names.size(); ++i) {
    Value right = value(*e.parts[i + 1]);
    work_.at = e.place;
    if (!holds(left, e.names[i], right)) return false;
    left = std::move(right);
  }
  return true;
}

bool TemplateEvaluator::holds(const Value& a, const std::string& sign, const Value& b) {
  if (sign == "==" || sign == "!=") return work_.equal(a, b) == (sign == "==");
  if (sign == "in" || sign == "not in") return work_.contains(b, a) == (sign == "in");
  if (sign == "<") return work_.less(a, b);
  if (sign == ">") return work_.less(b, a);
  return sign == "<=" ? !work_.less(b, a) : !work_.less(a, b);
}

}  // namespace heed::text
