#include "heed/models/foreign_json.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::models {
namespace {

using kernels::Activation;
using nlohmann::json;

constexpr Names<Activation, 9> kActivations{{{{Activation::kRelu, "relu"},
                                              {Activation::kGelu, "gelu"},
                                              {Activation::kGelu, "gelu_python"},
                                              {Activation::kGeluTanh, "gelu_new"},
                                              {Activation::kGeluTanh, "gelu_pytorch_tanh"},
                                              {Activation::kGeluTanh, "gelu_fast"},
                                              {Activation::kGeluTanh, "gelu_accurate"},
                                              {Activation::kSilu, "silu"},
                                              {Activation::kSilu, "swish"}}}};

bool is_id(const json& value) {
  return is_whole(value) && value.get<double>() >= -1 && value.get<double>() <= double{INT32_MAX};
}

}  // namespace

void fail_unknown(const std::string& name, const std::vector<std::string>& known, const std::string& where) {
  const std::string near = nearest(name, known);
  fail_file("{}: unknown {}{}", where, in_quotes(name), near.empty() ? "" : ", did you mean '" + near + "'?");
}

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  return value.is_array() ? "a list" : printable(value.dump(), 60);
}

bool is_whole(const json& value) {
  constexpr double kMost = 9e15;
  return value.is_number_integer() && std::abs(value.get<double>()) <= kMost;
}

void check_read(const ModelConfig& c, const std::string& where) {
  try {
    c.check();
  } catch (const Error& error) {
    fail_file("{}: {}", where, error.what());
  }
  if (c.family == Family::kEncoder || c.vocabulary == 0) return;
  struct Id {
    const char* name;
    int32_t id, least;
  };
  const int32_t least = c.family == Family::kEncoderDecoder ? 0 : -1;
  std::vector<Id> ids = {{"start", c.tokens.start, least},
                         {"eos", c.tokens.eos, least},
                         {"unk", c.tokens.unk, -1},
                         {"pad", c.tokens.pad, -1}};
  for (const int32_t end : c.tokens.more_ends) ids.push_back({"end", end, 0});
  for (const Id& i : ids) {
    if (i.id < i.least || i.id >= c.vocabulary) {
      fail_file("{}: the {} token is {}, expected an id from {} to {}", where, i.name, i.id, i.least, c.vocabulary - 1);
    }
  }
  const AlignmentHead& a = c.alignment;
  if (c.family == Family::kEncoderDecoder &&
      (a.layer < -1 || a.layer >= c.decoder.layers || a.head < 0 || a.head >= c.decoder.heads)) {
    fail_file("{}: words are aligned by head {} of decoder layer {}, but there are {} layers of {} heads", where,
              a.head, a.layer, c.decoder.layers, c.decoder.heads);
  }
}

const json& Foreign::at(const char* key, const char* expected) const {
  const auto it = from.find(key);
  if (it == from.end()) fail_file("{}: '{}' is missing, expected {}", where, key, expected);
  return *it;
}

void Foreign::wrong(const char* key, const char* expected) const {
  fail_file("{}: '{}' is {}, expected {}", where, key, shown(from[key]), expected);
}

int64_t Foreign::whole(const char* key) const {
  if (!is_whole(at(key, "a whole number"))) wrong(key, "a whole number");
  return from[key].get<int64_t>();
}

int64_t Foreign::count(const char* key) const {
  const int64_t found = whole(key);
  if (found < 1) wrong(key, "a whole number above 0");
  return found;
}

int32_t Foreign::id(const char* key) const {
  if (!is_id(at(key, "an id"))) wrong(key, "an id");
  return from[key].get<int32_t>();
}

bool Foreign::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!from[key].is_boolean()) wrong(key, "true or false");
  return from[key].get<bool>();
}

double Foreign::number(const char* key) const {
  if (!at(key, "a number").is_number()) wrong(key, "a number");
  return from[key].get<double>();
}

std::string Foreign::text(const char* key) const {
  if (!at(key, "a name").is_string()) wrong(key, "a name");
  return from[key].get<std::string>();
}

Activation Foreign::activation(const char* key) const {
  return named(kActivations, text(key), where + ": '" + key + "'");
}

void Foreign::demand(const char* key, bool value, bool otherwise) const {
  if (flag(key, otherwise) != value) fail_file("{}: '{}' is {}: not supported, expected {}", where, key, !value, value);
}

void Foreign::demand_none(const char* key) const {
  if (has(key) && !from[key].empty()) {
    fail_file("{}: '{}' is {}: not supported, expected none", where, key, shown(from[key]));
  }
}

std::vector<int32_t> end_ids(const Foreign& f) {
  constexpr const char* kKey = "eos_token_id";
  if (!f.has(kKey)) return {};
  const json& found = f.from[kKey];
  if (!found.is_array()) return {f.id(kKey)};
  std::vector<int32_t> ids;
  for (const json& id : found) {
    if (!is_id(id)) fail_file("{}: '{}' holds {}, expected ids", f.where, kKey, shown(id));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

void add_ends(TokenIds& tokens, const std::vector<int32_t>& ends, int64_t vocabulary) {
  std::set<int32_t> known(tokens.more_ends.begin(), tokens.more_ends.end());
  for (const int32_t id : ends) {
    if (id < 0 || id >= vocabulary || id == tokens.eos) continue;
    if (tokens.eos < 0) {
      tokens.eos = id;
    } else if (known.insert(id).second) {
      tokens.more_ends.push_back(id);
    }
  }
}

TokenIds Foreign::decoder_tokens(int64_t vocabulary, UnsaidIds unsaid) const {
  const auto id_or_none = [&](const char* key, int32_t otherwise) {
    const int32_t found = has(key) ? id(key) : from.contains(key) ? -1 : otherwise;
    return found < vocabulary ? found : -1;
  };
  TokenIds tokens{id_or_none("bos_token_id", unsaid.start), -1, -1, id_or_none("pad_token_id", -1), {}};
  add_ends(tokens, from.contains("eos_token_id") ? end_ids(*this) : std::vector{unsaid.end}, vocabulary);
  return tokens;
}

json decoder_tokens_json(const TokenIds& tokens) {
  const auto id_or_null = [](int32_t id) { return id < 0 ? json(nullptr) : json(id); };
  json ends = id_or_null(tokens.eos);
  if (!tokens.more_ends.empty()) {
    ends = json::array({tokens.eos});
    for (const int32_t id : tokens.more_ends) ends.push_back(id);
  }
  return {{"bos_token_id", id_or_null(tokens.start)},
          {"eos_token_id", std::move(ends)},
          {"pad_token_id", id_or_null(tokens.pad)}};
}

std::string activation_name(Activation activation) { return kActivations.name(activation); }

}  // namespace heed::models
