// Reads the config.json of other libraries: keys that are not asked for do not matter, those that are must be right.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heed/models/config.h"

namespace heed::models {

template <class Enum, size_t N>
struct Names {
  std::array<std::pair<Enum, const char*>, N> list;

  const char* name(Enum value) const {
    for (const auto& [v, n] : list) {
      if (v == value) return n;
    }
    return list[0].second;
  }
  std::vector<std::string> all() const {
    std::vector<std::string> names;
    for (const auto& [value, known] : list) names.emplace_back(known);
    return names;
  }
};

// "{where}: unknown 'gelo', did you mean 'gelu'?"
[[noreturn]] void fail_unknown(const std::string& name, const std::vector<std::string>& known,
                               const std::string& where);

template <class Enum, size_t N>
Enum named(const Names<Enum, N>& names, const std::string& name, const std::string& where) {
  for (const auto& [value, known] : names.list) {
    if (name == known) return value;
  }
  fail_unknown(name, names.all(), where);
}

// A value for a message. Lists and objects may be as deep as a file is long: they are not shown.
std::string shown(const nlohmann::json& value);
bool is_whole(const nlohmann::json& value);  // and small enough that a double holds it exactly

// What a file describes and no model can be is the file's fault.
void check_read(const ModelConfig& config, const std::string& where);

struct Foreign {
  const nlohmann::json& from;
  const std::string& where;

  // A key that is null says no more than one that is not there.
  bool has(const char* key) const { return from.contains(key) && !from[key].is_null(); }
  int64_t whole(const char* key) const;
  int64_t whole(const char* key, int64_t otherwise) const { return has(key) ? whole(key) : otherwise; }
  // How many there are of something that a model cannot be without.
  int64_t count(const char* key) const;
  int64_t count(const char* key, int64_t otherwise) const { return has(key) ? count(key) : otherwise; }
  int32_t id(const char* key) const;
  bool flag(const char* key, bool otherwise) const;
  double number(const char* key) const;
  double number(const char* key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  std::string text(const char* key) const;
  kernels::Activation activation(const char* key) const;
  // An error with the key unless it is as heed computes it.
  void demand(const char* key, bool value, bool otherwise) const;
  void demand_none(const char* key) const;

  // Of a model that writes text: ids beyond the vocabulary can never come, and are none. `unsaid` are those of a config
  // that does not have the keys; null is none.
  struct UnsaidIds {
    int32_t start = -1, end = -1;
  };
  TokenIds decoder_tokens(int64_t vocabulary, UnsaidIds unsaid) const;

 private:
  const nlohmann::json& at(const char* key, const char* expected) const;
  [[noreturn]] void wrong(const char* key, const char* expected) const;
};

// Theirs starts fresh weights with one deviation; heed's Xavier bounds have no name there.
inline double initializer_range(const nn::StackConfig& s) {
  return s.init_deviation > 0 ? double{s.init_deviation} : 0.02;
}

// The ids under "eos_token_id": none, one, or a list.
std::vector<int32_t> end_ids(const Foreign& f);
// More ends for a model, from another file than its config.
void add_ends(TokenIds& tokens, const std::vector<int32_t>& ends, int64_t vocabulary);
// The keys of both, as theirs name them.
nlohmann::json decoder_tokens_json(const TokenIds& tokens);

// As the published models name them; heed writes the first of each.
std::string activation_name(kernels::Activation activation);

}  // namespace heed::models
