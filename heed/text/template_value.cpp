#include "heed/text/template_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr int kDeepest = 64;  // lists in lists

template <class T>
const T* pointed(const Value& value) {
  const auto* found = std::get_if<std::shared_ptr<const T>>(&value.data);
  return found ? found->get() : nullptr;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace

const Value* Value::Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    if (name == key) return &value;
  }
  return nullptr;
}

const std::string* Value::as_text() const { return pointed<std::string>(*this); }
const Value::List* Value::as_list() const { return pointed<List>(*this); }
const Value::Dict* Value::as_dict() const {
  if (const auto* space = std::get_if<std::shared_ptr<Namespace>>(&data)) return &(*space)->values;
  return pointed<Dict>(*this);
}

bool Value::truth() const {
  if (is_number()) return number_of(*this) != 0;
  if (const std::string* text = as_text()) return !text->empty();
  if (const List* list = as_list()) return !list->items.empty();
  if (is<std::shared_ptr<Namespace>>()) return true;
  if (const Dict* dict = as_dict()) return !dict->items.empty();
  return false;
}

const char* Value::kind() const {
  constexpr const char* kNames[] = {"undefined", "none",   "a boolean",    "a number",   "a number",
                                    "a text",    "a list", "a dictionary", "a namespace"};
  return kNames[data.index()];
}

int Value::depth() const {
  if (const List* list = as_list()) return list->depth;
  const Dict* dict = as_dict();
  return dict ? dict->depth : 0;
}

double number_of(const Value& value) {
  if (const bool* b = std::get_if<bool>(&value.data)) return *b ? 1 : 0;
  if (const int64_t* i = std::get_if<int64_t>(&value.data)) return static_cast<double>(*i);
  return std::get<double>(value.data);
}

void fail_template(const std::string& label, Place at, const std::string& what) {
  fail_file("[template] {}:{}:{}: {}", label, at.line, at.column, printable(what, 300));
}

void TemplateWork::step(int64_t n) {
  if ((steps_left -= n) < 0) wrong("too many steps: it would take too long");
}

void TemplateWork::pay(size_t bytes) {
  if ((bytes_left -= static_cast<int64_t>(bytes)) < 0) wrong("too much text: it would fill the memory");
}

Value TemplateWork::text(std::string made) {
  pay(made.size() + sizeof(std::string));
  return Value::text(std::move(made));
}

Value TemplateWork::list(ValueList items) {
  pay((items.size() + 1) * sizeof(Value));
  int depth = 1;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth() + 1);
    if (item.is<std::shared_ptr<Value::Namespace>>()) wrong("a namespace in a list, which heed does not do");
  }
  if (depth > kDeepest) wrong("lists too deep in lists");
  return {std::make_shared<const Value::List>(Value::List{std::move(items), depth})};
}

Value TemplateWork::dict(ValueDict items) {
  int depth = 1;
  for (const auto& [key, value] : items) {
    pay(key.size() + sizeof(items[0]));
    depth = std::max(depth, value.depth() + 1);
    if (value.is<std::shared_ptr<Value::Namespace>>()) wrong("a namespace in a dictionary, which heed does not do");
  }
  if (depth > kDeepest) wrong("dictionaries too deep in dictionaries");
  return {std::make_shared<const Value::Dict>(Value::Dict{std::move(items), depth})};
}

size_t TemplateWork::find(std::string_view text, std::string_view part, size_t from) {
  // std::string::find would compare the whole part at every place.
  const void* found =
      part.empty() ? text.data() + from : ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  const size_t place = found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : text.npos;
  step();
  read((found ? place : text.size()) - from + part.size());
  return place;
}

const Value* TemplateWork::find(const Value::Dict& dict, std::string_view key) {
  scan(dict.items.size());
  return dict.find(key);
}

bool TemplateWork::equal(const Value& a, const Value& b) {
  step();
  if (a.is_number() && b.is_number()) return number_of(a) == number_of(b);
  if (a.data.index() != b.data.index()) return false;
  if (const std::string* text = a.as_text()) {
    read(text->size());
    return *text == *b.as_text();
  }
  if (const Value::List* list = a.as_list()) {
    return std::equal(list->items.begin(), list->items.end(), b.as_list()->items.begin(), b.as_list()->items.end(),
                      [&](const Value& x, const Value& y) { return equal(x, y); });
  }
  if (const auto* space = std::get_if<std::shared_ptr<Value::Namespace>>(&a.data))
    return *space == std::get<std::shared_ptr<Value::Namespace>>(b.data);
  if (const Value::Dict* left = a.as_dict(), *right = b.as_dict(); left && right) {
    return left->items.size() == right->items.size() &&
           std::all_of(left->items.begin(), left->items.end(), [&](const auto& item) {
             const Value* other = find(*right, item.first);
             return other && equal(item.second, *other);
           });
  }
  return true;  // both undefined, or both none
}

bool TemplateWork::less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return number_of(a) < number_of(b);
  if (!a.as_text() || !b.as_text()) wrong(fmt::format("{} and {} have no order", a.kind(), b.kind()));
  read(std::min(a.as_text()->size(), b.as_text()->size()));
  return *a.as_text() < *b.as_text();
}

bool TemplateWork::contains(const Value& all, const Value& one) {
  if (all.is_undefined()) return false;
  if (const std::string* text = all.as_text())
    return find(*text, need_text(one, "what is looked for in a text")) != std::string::npos;
  if (const Value::List* list = all.as_list()) {
    return std::any_of(list->items.begin(), list->items.end(), [&](const Value& item) { return equal(item, one); });
  }
  const Value::Dict* dict = all.as_dict();
  if (!dict) wrong(fmt::format("'in' {}, expected a text, a list or a dictionary", all.kind()));
  return one.as_text() && find(*dict, *one.as_text());
}

std::string TemplateWork::written(const Value& value) const {
  if (const std::string* text = value.as_text()) return *text;
  if (const bool* b = std::get_if<bool>(&value.data)) return *b ? "True" : "False";
  if (const int64_t* i = std::get_if<int64_t>(&value.data)) return std::to_string(*i);
  if (const double* d = std::get_if<double>(&value.data)) return float_text(*d);
  if (value.is_none()) return "None";
  if (!value.is_undefined()) wrong(fmt::format("{} is written as text, expected one (tojson makes it)", value.kind()));
  return "";
}

template <class Items, class Add>
void TemplateWork::add_json_items(std::string& out, const char* brackets, const Items& items, int64_t indent,
                                  int64_t level, Add add) {
  out += brackets[0];
  for (const auto& item : items) {
    if (&item != &items.front()) out += indent < 0 ? ", " : ",";
    if (indent >= 0) out += "\n" + std::string(static_cast<size_t>(indent * (level + 1)), ' ');
    add(item);
  }
  if (indent >= 0 && !items.empty()) out += "\n" + std::string(static_cast<size_t>(indent * level), ' ');
  out += brackets[1];
}

void TemplateWork::add_json(std::string& out, const Value& value, int64_t indent, int64_t level) {
  step();
  const size_t before = out.size();
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  if (const std::string* text = value.as_text()) {
    out += quoted(*text);
  } else if (const Value::List* list = value.as_list()) {
    return add_json_items(out, "[]", list->items, indent, level,
                          [&](const Value& item) { add_json(out, item, indent, level + 1); });
  } else if (const Value::Dict* dict = value.as_dict()) {
    return add_json_items(out, "{}", dict->items, indent, level, [&](const auto& item) {
      pay(item.first.size());
      out += quoted(item.first) + ": ";
      add_json(out, item.second, indent, level + 1);
    });
  } else if (value.is_undefined()) {
    wrong("undefined as JSON, expected a value");
  } else if (const bool* b = std::get_if<bool>(&value.data)) {
    out += *b ? "true" : "false";
  } else {
    out += value.is_none() ? "null" : written(value);
  }
  pay(out.size() - before);
}

std::string TemplateWork::json(const Value& value, int64_t indent) {
  constexpr int64_t kMost = 16;
  if (indent > kMost) wrong(fmt::format("an indent of {}, expected at most {}", indent, kMost));
  std::string out;
  add_json(out, value, indent, 0);
  return out;
}

const std::string& TemplateWork::need_text(const Value& value, const char* what) const {
  if (const auto* undefined = std::get_if<Value::Undefined>(&value.data))
    wrong(fmt::format("{} is undefined", undefined->name.empty() ? what : in_quotes(undefined->name)));
  const std::string* text = value.as_text();
  if (!text) wrong(fmt::format("{} is {}, expected a text", what, value.kind()));
  return *text;
}

int64_t TemplateWork::need_whole(const Value& value, const char* what) const {
  if (const int64_t* whole = std::get_if<int64_t>(&value.data)) return *whole;
  if (const bool* b = std::get_if<bool>(&value.data)) return *b;
  wrong(fmt::format("{} is {}, expected a whole number", what, value.kind()));
}

ValueList TemplateWork::items_of(const Value& value) {
  ValueList items;
  if (value.is_undefined()) return items;
  if (const Value::List* list = value.as_list()) {
    pay(list->items.size() * sizeof(Value));
    return list->items;
  }
  if (const Value::Dict* dict = value.as_dict()) {
    for (const auto& [key, item] : dict->items) items.push_back(text(key));
    return items;
  }
  if (!value.as_text()) wrong(fmt::format("{} has no items, expected a list", value.kind()));
  for (const char32_t c : to_code_points(*value.as_text())) items.push_back(text(to_utf8({&c, 1})));
  return items;
}

}  // namespace heed::text
