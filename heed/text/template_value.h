// What the expressions of a template compute with: Python's values, as far as chat templates know them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace heed::text {

struct Value;
using ValueList = std::vector<Value>;
using ValueDict = std::vector<std::pair<std::string, Value>>;  // in the order in which keys came

struct Value {
  struct Undefined {
    std::string name;
  };
  struct None {};
  // Lists in lists stay shallow: whoever walks or frees them recurses.
  struct List {
    ValueList items;
    int depth = 1;
  };
  struct Dict {
    ValueDict items;
    int depth = 1;
    const Value* find(std::string_view key) const;
  };
  struct Namespace {
    Dict values;  // the one thing that a template changes
  };
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, std::shared_ptr<Namespace>>
      data;

  static Value undefined(std::string_view name) { return {Undefined{std::string(name)}}; }
  static Value none() { return {None{}}; }
  static Value text(std::string text) { return {std::make_shared<const std::string>(std::move(text))}; }

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  bool is_undefined() const { return is<Undefined>(); }
  bool is_none() const { return is<None>(); }
  bool is_number() const { return is<bool>() || is<int64_t>() || is<double>(); }
  // Null where it is none.
  const std::string* as_text() const;
  const List* as_list() const;
  const Dict* as_dict() const;  // of a namespace its values

  bool truth() const;
  const char* kind() const;  // for messages: "a list"
  int depth() const;
};

struct Place {
  int32_t line = 1, column = 1;
};

[[noreturn]] void fail_template(const std::string& label, Place at,
                                const std::string& what);  // "[template] NAME:3:7: what"

// One rendering under way: how much it may still do, and where it is. A stranger's template must neither hang nor fill the
// memory, so every value that it makes is paid for.
struct TemplateWork {
  const std::string& label;
  int64_t steps_left, bytes_left;
  Place at = {};

  [[noreturn]] void wrong(const std::string& what) const { fail_template(label, at, what); }
  void step(int64_t n = 1);
  void pay(size_t bytes);

  Value text(std::string made);
  Value list(ValueList items);
  Value dict(ValueDict items);

  // For reading so many bytes, or so many names one after the other.
  void read(size_t bytes) { step(static_cast<int64_t>(bytes / 64)); }
  void scan(size_t names) { step(static_cast<int64_t>(names / 16)); }
  // Where `part` stands in a text; npos: nowhere. Linear, whatever the two are.
  size_t find(std::string_view text, std::string_view part, size_t from = 0);
  const Value* find(const Value::Dict& dict, std::string_view key);
  bool equal(const Value& a, const Value& b);
  bool less(const Value& a, const Value& b);
  bool contains(const Value& all, const Value& one);
  std::string written(const Value& value) const;  // as {{ }} prints it
  // Python's json.dumps; indent -1: one line.
  std::string json(const Value& value, int64_t indent = -1);

  const std::string& need_text(const Value& value, const char* what) const;
  int64_t need_whole(const Value& value, const char* what) const;
  // What a loop goes through: items, keys, or characters.
  ValueList items_of(const Value& value);

 private:
  void add_json(std::string& out, const Value& value, int64_t indent, int64_t level);
  template <class Items, class Add>
  void add_json_items(std::string& out, const char* brackets, const Items& items, int64_t indent, int64_t level,
                      Add add);
};

double number_of(const Value& value);  // of one that is_number()

}  // namespace heed::text
