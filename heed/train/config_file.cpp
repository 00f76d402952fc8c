// The config as text: TOML in and out, and single assignments.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "heed/base/error.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"
#include "heed/train/config.h"
#include "heed/train/task_config.h"

namespace heed::train {
namespace {

// Where a value stands, for messages: "run.toml:3:7", or the flag.
[[noreturn]] void wrong(const std::string& where, const ConfigField& field, const std::string& found,
                        const std::string& expected) {
  fail("[config] {}: {} is {}, expected {}", where, field.key, found, expected);
}

std::vector<std::string> keys_of(const std::vector<ConfigField>& fields) {
  std::vector<std::string> keys;
  keys.reserve(fields.size());
  for (const ConfigField& field : fields) keys.emplace_back(field.key);
  return keys;
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// In a file a key has one place, its table; a person who types an assignment may leave that out.
const ConfigField& find_field(const std::vector<ConfigField>& fields, const std::string& key, const std::string& where,
                              bool by_last_part) {
  const bool short_key = key.find('.') == std::string::npos;
  for (const ConfigField& field : fields) {
    if (field.key == key || (by_last_part && short_key && last_part(field.key) == key)) return field;
    if (short_key && last_part(field.key) == key)
      fail("[config] {}: {} is a key of a table, expected {}", where, in_quotes(key), field.key);
  }
  std::vector<std::string> known = keys_of(fields);
  if (short_key) {
    for (std::string& k : known) k = last_part(k);
  }
  const std::string near = nearest(key, known), elsewhere = tasks_with(key);
  if (!elsewhere.empty())
    fail("[config] {}: {} is a key of the task '{}', and this run's is another", where, in_quotes(key), elsewhere);
  fail("[config] {}: unknown key {}{}", where, in_quotes(key), near.empty() ? "" : ", did you mean '" + near + "'?");
}

void check_number(const std::string& where, const ConfigField& field, double value) {
  if (!(value >= field.least && value <= field.most)) {
    wrong(where, field, fmt::format("{}", value), fmt::format("{} to {}", field.least, field.most));
  }
}

void check_choice(const std::string& where, const ConfigField& field, const std::string& value) {
  if (field.choices.empty()) return;
  for (const std::string& choice : field.choices) {
    if (value == choice) return;
  }
  const std::string near = nearest(value, field.choices);
  std::string all;
  for (const std::string& choice : field.choices) all += choice.empty() ? "" : (all.empty() ? "" : ", ") + choice;
  if (near.empty()) wrong(where, field, in_quotes(value), "one of " + all);
  fail("[config] {}: {} is {}, did you mean '{}'?", where, field.key, in_quotes(value), near);
}

// TOML is UTF-8: a name that is not could not be written down with the model.
void check_text(const std::string& where, const ConfigField& field, const std::string& value) {
  if (!text::valid_utf8(value)) wrong(where, field, in_quotes(value), "UTF-8");
}

// Puts a TOML value into the field of its type.
struct Assign {
  const ConfigField& field;
  const toml::node& node;
  const std::string& where;

  [[noreturn]] void wrong_type(const char* expected) const {
    std::ostringstream text;
    text << node.type();
    wrong(where, field, "of type " + text.str(), expected);
  }
  void operator()(int64_t* to) const {
    if (!node.is_integer()) wrong_type("a whole number");
    check_number(where, field, static_cast<double>(*node.value<int64_t>()));
    *to = *node.value<int64_t>();
  }
  void operator()(double* to) const {
    if (!node.is_number()) wrong_type("a number");
    const double value = node.is_integer() ? static_cast<double>(*node.value<int64_t>()) : *node.value<double>();
    check_number(where, field, value);
    *to = value;
  }
  void operator()(bool* to) const {
    if (!node.is_boolean()) wrong_type("true or false");
    *to = *node.value<bool>();
  }
  void operator()(std::optional<bool>* to) const {
    bool value = false;
    (*this)(&value);
    *to = value;
  }
  void operator()(std::string* to) const {
    if (!node.is_string()) wrong_type("a text in quotes");
    check_choice(where, field, *node.value<std::string>());
    *to = *node.value<std::string>();
  }
  void operator()(std::vector<std::string>* to) const {
    std::vector<std::string> all;
    if (node.is_string()) {
      all.push_back(*node.value<std::string>());
    } else if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) {
        if (!item.is_string()) wrong_type("a list of texts in quotes");
        all.push_back(*item.value<std::string>());
      }
    } else {
      wrong_type("a text in quotes or a list of them");
    }
    *to = std::move(all);
  }
};

std::string place_of(const std::string& label, const toml::node& node) {
  return fmt::format("{}:{}:{}", label, node.source().begin.line, node.source().begin.column);
}

void assign_table(const std::vector<ConfigField>& fields, const toml::table& table, const std::string& prefix,
                  const std::string& label) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      assign_table(fields, *inner, key + ".", label);
      continue;
    }
    const std::string where = place_of(label, node);
    const ConfigField& field = find_field(fields, key, where, /*by_last_part=*/false);
    std::visit(Assign{field, node, where}, field.value);
  }
}

// Which fields there are depends on it: it is read before all others, wherever it stands.
void take_task(TrainConfig& config, const toml::node& node, const std::string& where) {
  std::string task = config.task;
  const ConfigField field{"task", &task, "", task_names()};
  std::visit(Assign{field, node, where}, field.value);
  if (task != config.task) config = default_config(task);
}

// As TOML writes it.
struct Text {
  std::string operator()(const int64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const double* value) const {
    const std::string text = fmt::format("{}", *value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::optional<bool>* value) const { return *value ? (*this)(&**value) : ""; }
  std::string operator()(const std::string* value) const {
    // A string of JSON is one of TOML, but for the one control character that JSON lets through.
    const std::string text = nlohmann::json(*value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    std::string escaped;
    for (const char c : text) escaped += c == '\x7f' ? "\\u007f" : std::string(1, c);
    return escaped;
  }
  std::string operator()(const std::vector<std::string>* value) const {
    std::string text = "[";
    for (const std::string& item : *value) text += (text.size() > 1 ? ", " : "") + (*this)(&item);
    return text + "]";
  }
};

}  // namespace

void read_config_text(TrainConfig& config, const std::string& text, const std::string& label) {
  try {
    const toml::table table = toml::parse(text, label);
    if (const toml::node* task = table.get("task")) take_task(config, *task, place_of(label, *task));
    assign_table(config_fields(config), table, "", label);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    fail("[config] {}:{}:{}: {}", label, at.line, at.column, printable(error.description(), 300));
  }
}

void read_config_file(TrainConfig& config, const std::string& path) {
  const MappedFile file(path);
  constexpr size_t kMost = size_t{1} << 20;
  if (file.bytes().size() > kMost) fail_file("[config] '{}' has {} bytes: it is no config", path, file.bytes().size());
  read_config_text(config, {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

void set_config(TrainConfig& config, const std::string& assignment) {
  const std::string where = "--set " + printable(assignment, 80);
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) fail("[config] {}: expected key=value", where);
  const std::string key = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const std::vector<ConfigField> fields = config_fields(config);
  const ConfigField& field = find_field(fields, key, where, /*by_last_part=*/true);
  if (std::string_view(field.key) == "task")
    fail("[config] {}: the task is said by the command or by a config file", where);
  set_field(field, value, where);
}

void set_field(const ConfigField& field, const std::string& value, const std::string& where) {
  // A text needs no quotes here.
  toml::table table;
  try {
    table = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    table.insert("value", value);
  }
  const bool text = std::holds_alternative<std::string*>(field.value) ||
                    (std::holds_alternative<std::vector<std::string>*>(field.value) && !value.starts_with('['));
  if (text && !table["value"].is_string()) table.insert_or_assign("value", value);
  std::visit(Assign{field, *table.get("value"), where}, field.value);
}

void check_config(TrainConfig& config) {
  for (const ConfigField& field : config_fields(config)) {
    const std::string where = "this run";
    if (const auto* number = std::get_if<int64_t*>(&field.value))
      check_number(where, field, static_cast<double>(**number));
    if (const auto* number = std::get_if<double*>(&field.value)) check_number(where, field, **number);
    if (const auto* name = std::get_if<std::string*>(&field.value)) {
      check_choice(where, field, **name);
      check_text(where, field, **name);
    }
    if (const auto* names = std::get_if<std::vector<std::string>*>(&field.value)) {
      for (const std::string& name : **names) check_text(where, field, name);
    }
  }
  for (const double* rate :
       {&config.model.dropout, &config.model.attention_dropout, &config.model.activation_dropout}) {
    if (*rate < 0 && *rate != -1) fail("[config] a dropout of {}: expected 0 to 0.999, or -1 for the preset's", *rate);
  }
  if (config.train.schedule == "paper" && config.train.learning_rate > 0) {
    fail(
        "[config] train.learning_rate is {} with train.schedule 'paper', whose rate follows from d_model: expected one",
        config.train.learning_rate);
  }
  check_task(config);
  if (config.save.out.empty()) fail("[config] nowhere to write: expected save.out (--out MODEL)");
}

std::string config_text(const TrainConfig& config) {
  TrainConfig copy = config;
  std::string text, table;
  for (const ConfigField& field : config_fields(copy)) {
    const std::string key = field.key, of = key.substr(0, key.find('.')), value = std::visit(Text{}, field.value);
    if (value.empty()) continue;  // what is left to the preset and has no word for that
    if (of == key) {
      text += fmt::format("{} = {}\n\n", key, value);
      continue;
    }
    if (of != table) text += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", of);
    table = of;
    text += fmt::format("{} = {}\n", last_part(key), value);
  }
  return text;
}

}  // namespace heed::train
