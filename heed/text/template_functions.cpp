// Filters, tests and methods of templates, as Jinja and Python have them.
#include <algorithm>
#include <cmath>
#include <map>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/template_syntax.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using Arguments = TemplateArguments;
using Function = Value (*)(TemplateWork&, const Value&, const Arguments&);
using Test = bool (*)(TemplateWork&, const Value&, const Arguments&);

const Value& need(const TemplateWork& work, const Arguments& arguments, size_t place, const char* name) {
  const Value* found = arguments.find(place, name);
  if (!found) work.wrong(fmt::format("'{}' is missing", name));
  return *found;
}

std::string_view first_character(std::string_view text) {
  size_t end = std::min<size_t>(1, text.size());
  while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(0, end);
}

Value attribute_of(TemplateWork& work, const Value& value, const std::string& name) {
  const Value::Dict* dict = value.as_dict();
  const Value* found = dict ? work.find(*dict, name) : nullptr;
  return found ? *found : Value::undefined(name);
}

// --- Texts ---

enum class Side { kBoth, kStart, kEnd };

// Without blanks, or without any of the given characters.
template <Side side>
Value strip(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const std::string& whole = work.need_text(value, "what is stripped");
  const Value* characters = arguments.find(0, "chars");
  if (!characters || characters->is_none()) {
    std::string_view text = whole;
    if (side != Side::kEnd) text = trim_start(text);
    if (side != Side::kStart) text = trim_end(text);
    return work.text(std::string(text));
  }
  const std::u32string taken = to_code_points(work.need_text(*characters, "what to strip")),
                       text = to_code_points(whole);
  work.read(whole.size());
  const auto goes = [&](char32_t c) {
    work.read(4 * taken.size());
    return taken.find(c) != taken.npos;
  };
  size_t begin = 0, end = text.size();
  while (side != Side::kEnd && begin < end && goes(text[begin])) ++begin;
  while (side != Side::kStart && begin < end && goes(text[end - 1])) --end;
  return work.text(to_utf8(std::u32string_view(text).substr(begin, end - begin)));
}

Value upper(TemplateWork& work, const Value& value, const Arguments&) {
  return work.text(to_upper(work.need_text(value, "what is written large")));
}
Value lower(TemplateWork& work, const Value& value, const Arguments&) {
  return work.text(to_lower(work.need_text(value, "what is written small")));
}
Value capitalize(TemplateWork& work, const Value& value, const Arguments&) {
  const std::string& text = work.need_text(value, "what is capitalized");
  const std::string_view first = first_character(text);
  return work.text(to_upper(first) + to_lower(std::string_view(text).substr(first.size())));
}
Value title(TemplateWork& work, const Value& value, const Arguments&) {
  std::string out;
  bool begins = true;
  for (const char32_t c : to_code_points(work.need_text(value, "what is a title"))) {
    const std::string one = to_utf8({&c, 1});
    out += begins ? to_upper(one) : to_lower(one);
    begins = is_blank(c) || is_punctuation(c) || is_symbol(c) || is_number(c);
  }
  return work.text(out);
}

Value replace(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const std::string& text = work.need_text(value, "where something is replaced");
  const std::string& old = work.need_text(need(work, arguments, 0, "old"), "what is replaced");
  const std::string& by = work.need_text(need(work, arguments, 1, "new"), "what it is replaced by");
  if (old.empty()) work.wrong("an empty text is replaced, expected some");
  const Value* most = arguments.find(2, "count");
  int64_t left = most && !most->is_none() ? work.need_whole(*most, "how often it is replaced") : -1;
  std::string out;
  size_t begin = 0;
  for (size_t at = work.find(text, old); at != text.npos && left != 0; at = work.find(text, old, begin), --left) {
    work.pay(by.size());
    out.append(text, begin, at - begin).append(by);
    begin = at + old.size();
  }
  return work.text(out.append(text, begin));
}

Value split(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const std::string& text = work.need_text(value, "what is split");
  const Value *by = arguments.find(0, "sep"), *most = arguments.find(1, "maxsplit");
  int64_t left = most ? work.need_whole(*most, "how often it is split") : -1;
  ValueList parts;
  if (!by || by->is_none()) {
    if (left >= 0) work.wrong("split at blanks so many times, which heed does not do");
    for (const std::string_view word : split_blanks(text)) parts.push_back(work.text(std::string(word)));
    return work.list(std::move(parts));
  }
  const std::string& separator = work.need_text(*by, "where it is split");
  if (separator.empty()) work.wrong("a text is split at nothing, expected some text");
  size_t begin = 0;
  for (size_t at = work.find(text, separator); at != text.npos && left != 0;
       at = work.find(text, separator, begin), --left) {
    parts.push_back(work.text(text.substr(begin, at - begin)));
    begin = at + separator.size();
  }
  parts.push_back(work.text(text.substr(begin)));
  return work.list(std::move(parts));
}

// Python takes one text, or several of which one will do.
template <bool at_start>
Value has_affix(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const std::string& text = work.need_text(value, "what is looked at");
  const Value& given = need(work, arguments, 0, "prefix");
  const ValueList several = given.as_list() ? given.as_list()->items : ValueList{given};
  return {std::any_of(several.begin(), several.end(), [&](const Value& one) {
    const std::string& affix = work.need_text(one, "what is looked for");
    work.step();
    work.read(std::min(affix.size(), text.size()));
    return at_start ? text.starts_with(affix) : text.ends_with(affix);
  })};
}

std::string joined(TemplateWork& work, const Value& items, const std::string& separator, const Value* attribute) {
  std::string out;
  bool first = true;
  for (const Value& item : work.items_of(items)) {
    if (!first) out += separator;
    first = false;
    const std::string text =
        work.written(attribute ? attribute_of(work, item, work.need_text(*attribute, "'attribute'")) : item);
    work.pay(text.size() + separator.size());
    out += text;
  }
  return out;
}
Value join_filter(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const Value* by = arguments.find(0, "d");
  return work.text(joined(work, value, by ? work.need_text(*by, "what joins") : "", arguments.find(1, "attribute")));
}
Value join_method(TemplateWork& work, const Value& value, const Arguments& arguments) {
  return work.text(joined(work, need(work, arguments, 0, "iterable"), work.need_text(value, "what joins"), nullptr));
}

Value as_string(TemplateWork& work, const Value& value, const Arguments&) { return work.text(work.written(value)); }

// --- Numbers ---

Value as_whole(TemplateWork& work, const Value& value, const Arguments& arguments) {
  constexpr double kMost = 9e15;
  if (value.as_text()) work.read(value.as_text()->size());
  if (value.is_number() && std::abs(number_of(value)) < kMost) return {static_cast<int64_t>(number_of(value))};
  const std::string_view text = value.as_text() ? trim_end(trim_start(*value.as_text())) : "";
  constexpr size_t kDigits = 15;
  const size_t sign = text.starts_with('-') || text.starts_with('+');
  if (text.size() > sign && text.size() <= kDigits && text.find_first_not_of("0123456789", sign) == text.npos)
    return {static_cast<int64_t>(std::stoll(std::string(text)))};
  const Value* otherwise = arguments.find(0, "default");
  return otherwise ? *otherwise : Value{int64_t{0}};
}

// --- Lists and dictionaries ---

Value length(TemplateWork& work, const Value& value, const Arguments&) {
  if (value.is_undefined()) return {int64_t{0}};
  if (const std::string* text = value.as_text()) {
    work.read(text->size());
    return {static_cast<int64_t>(to_code_points(*text).size())};
  }
  if (const Value::List* list = value.as_list()) return {static_cast<int64_t>(list->items.size())};
  const Value::Dict* dict = value.as_dict();
  if (!dict) work.wrong(fmt::format("{} has no length", value.kind()));
  return {static_cast<int64_t>(dict->items.size())};
}
Value as_list(TemplateWork& work, const Value& value, const Arguments&) { return work.list(work.items_of(value)); }
template <bool at_start>
Value one_end(TemplateWork& work, const Value& value, const Arguments&) {
  const ValueList items = work.items_of(value);
  if (items.empty()) return Value::undefined("item of nothing");
  return at_start ? items.front() : items.back();
}
Value reversed(TemplateWork& work, const Value& value, const Arguments&) {
  ValueList items = work.items_of(value);
  std::reverse(items.begin(), items.end());
  return work.list(std::move(items));
}

const Value::Dict& need_dict(const TemplateWork& work, const Value& value) {
  const Value::Dict* dict = value.as_dict();
  if (!dict) work.wrong(fmt::format("{}, expected a dictionary", value.kind()));
  return *dict;
}
Value items(TemplateWork& work, const Value& value, const Arguments&) {
  ValueList pairs;
  for (const auto& [key, item] : need_dict(work, value).items) pairs.push_back(work.list({work.text(key), item}));
  return work.list(std::move(pairs));
}
Value keys(TemplateWork& work, const Value& value, const Arguments&) {
  need_dict(work, value);
  return work.list(work.items_of(value));
}
Value values(TemplateWork& work, const Value& value, const Arguments&) {
  ValueList all;
  for (const auto& [key, item] : need_dict(work, value).items) all.push_back(item);
  return work.list(std::move(all));
}
Value get(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const Value& key = need(work, arguments, 0, "key");
  const Value* found = key.as_text() ? work.find(need_dict(work, value), *key.as_text()) : nullptr;
  if (found) return *found;
  const Value* otherwise = arguments.find(1, "default");
  return otherwise ? *otherwise : Value::none();
}

// Those of a list whose attribute passes a test, or does not.
template <bool wanted>
Value select_by(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const std::string& attribute = work.need_text(need(work, arguments, 0, "attribute"), "'attribute'");
  const Value* named = arguments.find(1, "test");
  const std::string test = named ? work.need_text(*named, "'test'") : "";
  if (named && !is_template_test(test)) work.wrong("a test that heed does not know: " + in_quotes(test));
  Arguments rest;
  if (arguments.values.size() > 2) rest.values.assign(arguments.values.begin() + 2, arguments.values.end());
  ValueList kept;
  for (const Value& item : work.items_of(value)) {
    const Value looked = attribute_of(work, item, attribute);
    if ((named ? call_template_test(work, test, looked, rest) : looked.truth()) == wanted) kept.push_back(item);
  }
  return work.list(std::move(kept));
}
Value attributes(TemplateWork& work, const Value& value, const Arguments& arguments) {
  if (arguments.names != std::vector<std::string>{"attribute"} || arguments.values.size() != 1)
    work.wrong("'map' without attribute=, which heed does not do");
  const std::string& attribute = work.need_text(arguments.values[0], "'attribute'");
  ValueList all;
  for (const Value& item : work.items_of(value)) all.push_back(attribute_of(work, item, attribute));
  return work.list(std::move(all));
}

// --- Others ---

Value defaulted(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const Value* empty_too = arguments.find(1, "boolean");
  if (!value.is_undefined() && (!empty_too || !empty_too->truth() || value.truth())) return value;
  const Value* otherwise = arguments.find(0, "default_value");
  return otherwise ? *otherwise : work.text("");
}
Value as_json(TemplateWork& work, const Value& value, const Arguments& arguments) {
  const Value* indent = arguments.find(1, "indent");
  return work.text(work.json(value, indent && !indent->is_none() ? work.need_whole(*indent, "'indent'") : -1));
}
Value same(TemplateWork&, const Value& value, const Arguments&) { return value; }

const std::map<std::string_view, Function> kFilters = {{"trim", strip<Side::kBoth>},
                                                       {"upper", upper},
                                                       {"lower", lower},
                                                       {"capitalize", capitalize},
                                                       {"title", title},
                                                       {"replace", replace},
                                                       {"join", join_filter},
                                                       {"string", as_string},
                                                       {"int", as_whole},
                                                       {"length", length},
                                                       {"count", length},
                                                       {"list", as_list},
                                                       {"first", one_end<true>},
                                                       {"last", one_end<false>},
                                                       {"reverse", reversed},
                                                       {"items", items},
                                                       {"selectattr", select_by<true>},
                                                       {"rejectattr", select_by<false>},
                                                       {"map", attributes},
                                                       {"default", defaulted},
                                                       {"d", defaulted},
                                                       {"tojson", as_json},
                                                       {"safe", same}};

const std::map<std::string_view, Function> kTextMethods = {{"strip", strip<Side::kBoth>},
                                                           {"lstrip", strip<Side::kStart>},
                                                           {"rstrip", strip<Side::kEnd>},
                                                           {"upper", upper},
                                                           {"lower", lower},
                                                           {"capitalize", capitalize},
                                                           {"title", title},
                                                           {"replace", replace},
                                                           {"split", split},
                                                           {"startswith", has_affix<true>},
                                                           {"endswith", has_affix<false>},
                                                           {"join", join_method}};
const std::map<std::string_view, Function> kDictMethods = {
    {"items", items}, {"keys", keys}, {"values", values}, {"get", get}};

template <class T>
bool holds(TemplateWork&, const Value& value, const Arguments&) {
  return value.is<T>();
}
bool is_equal(TemplateWork& work, const Value& value, const Arguments& a) {
  return work.equal(value, need(work, a, 0, "other"));
}
bool divides(TemplateWork& work, const Value& value, int64_t by) {
  if (by == 0) work.wrong("a division by 0");
  return by == -1 || work.need_whole(value, "what is divided") % by == 0;
}

const std::map<std::string_view, Test> kTests = {
    {"defined", [](TemplateWork&, const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", holds<Value::Undefined>},
    {"none", holds<Value::None>},
    {"boolean", holds<bool>},
    {"integer", holds<int64_t>},
    {"float", holds<double>},
    {"number", [](TemplateWork&, const Value& v, const Arguments&) { return v.is_number(); }},
    {"string", [](TemplateWork&, const Value& v, const Arguments&) { return v.as_text() != nullptr; }},
    {"mapping", [](TemplateWork&, const Value& v, const Arguments&) { return v.as_dict() != nullptr; }},
    {"iterable", [](TemplateWork&, const Value& v,
                    const Arguments&) { return v.is_undefined() || v.as_text() || v.as_list() || v.as_dict(); }},
    {"sequence", [](TemplateWork&, const Value& v,
                    const Arguments&) { return v.is_undefined() || v.as_text() || v.as_list() || v.as_dict(); }},
    {"true", [](TemplateWork&, const Value& v, const Arguments&) { return v.is<bool>() && v.truth(); }},
    {"false", [](TemplateWork&, const Value& v, const Arguments&) { return v.is<bool>() && !v.truth(); }},
    {"equalto", is_equal},
    {"eq", is_equal},
    {"ne", [](TemplateWork& w, const Value& v, const Arguments& a) { return !is_equal(w, v, a); }},
    {"in", [](TemplateWork& w, const Value& v, const Arguments& a) { return w.contains(need(w, a, 0, "seq"), v); }},
    {"odd", [](TemplateWork& w, const Value& v, const Arguments&) { return !divides(w, v, 2); }},
    {"even", [](TemplateWork& w, const Value& v, const Arguments&) { return divides(w, v, 2); }},
    {"divisibleby", [](TemplateWork& w, const Value& v, const Arguments& a) {
       return divides(w, v, w.need_whole(need(w, a, 0, "num"), "what divides"));
     }}};

}  // namespace

const Value* TemplateArguments::find(size_t place, std::string_view name) const {
  if (place < unnamed()) return &values[place];
  const auto named = std::find(names.begin(), names.end(), name);
  return named == names.end() ? nullptr : &values[unnamed() + static_cast<size_t>(named - names.begin())];
}

bool is_template_filter(std::string_view name) { return kFilters.contains(name); }
bool is_template_test(std::string_view name) { return kTests.contains(name); }

Value call_template_filter(TemplateWork& work, const std::string& name, const Value& value,
                           const TemplateArguments& arguments) {
  return kFilters.at(name)(work, value, arguments);
}

bool call_template_test(TemplateWork& work, const std::string& name, const Value& value,
                        const TemplateArguments& arguments) {
  return kTests.at(name)(work, value, arguments);
}

Value call_template_method(TemplateWork& work, const std::string& name, const Value& value,
                           const TemplateArguments& arguments) {
  const auto* methods = value.as_text() ? &kTextMethods : value.as_dict() ? &kDictMethods : nullptr;
  const auto found = methods ? methods->find(name) : kTextMethods.end();
  if (!methods || found == methods->end())
    work.wrong(fmt::format("{} has no method {} that heed knows", value.kind(), in_quotes(name)));
  return found->second(work, value, arguments);
}

}  // namespace heed::text
