#include "heed/models/config_json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::models {
namespace {

using nlohmann::json;

template <class Enum, size_t N>
struct Names {
  std::array<std::pair<Enum, const char*>, N> list;

  const char* name(Enum value) const {
    for (const auto& [v, n] : list) {
      if (v == value) return n;
    }
    return list[0].second;
  }
};
constexpr Names<Family, 3> kFamilies{
    {{{Family::kEncoderDecoder, "encoder-decoder"}, {Family::kEncoder, "encoder"}, {Family::kDecoder, "decoder"}}}};
constexpr Names<nn::NormKind, 3> kNorms{
    {{{nn::NormKind::kLayer, "layer"}, {nn::NormKind::kRms, "rms"}, {nn::NormKind::kNone, "none"}}}};
constexpr Names<nn::NormPlace, 2> kPlaces{{{{nn::NormPlace::kPre, "pre"}, {nn::NormPlace::kPost, "post"}}}};
using kernels::Activation;
constexpr Names<Activation, 5> kActivations{{{{Activation::kNone, "none"},
                                              {Activation::kRelu, "relu"},
                                              {Activation::kGelu, "gelu"},
                                              {Activation::kGeluTanh, "gelu_new"},
                                              {Activation::kSilu, "silu"}}}};
constexpr Names<nn::PositionKind, 6> kPositions{{{{nn::PositionKind::kNone, "none"},
                                                  {nn::PositionKind::kSinusoidal, "sinusoidal"},
                                                  {nn::PositionKind::kLearned, "learned"},
                                                  {nn::PositionKind::kRotary, "rotary"},
                                                  {nn::PositionKind::kAlibi, "alibi"},
                                                  {nn::PositionKind::kT5, "t5"}}}};

template <class Enum, size_t N>
Enum named(const Names<Enum, N>& names, const std::string& name, const std::string& where) {
  std::vector<std::string> all;
  for (const auto& [value, known] : names.list) {
    if (name == known) return value;
    all.emplace_back(known);
  }
  const std::string near = nearest(name, all);
  fail_file("{}: unknown {}{}", where, in_quotes(name), near.empty() ? "" : ", did you mean '" + near + "'?");
}

// A value for a message. Lists and objects may be as deep as a file is long: they are not shown.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  return value.is_array() ? "a list" : printable(value.dump(), 60);
}

constexpr double kMostWhole = 9e15;  // what a double holds exactly
bool is_whole(const json& value) { return value.is_number_integer() && std::abs(value.get<double>()) <= kMostWhole; }

// What a file describes and no model can be is the file's fault.
void check_read(const ModelConfig& c, const std::string& where) {
  try {
    c.check();
  } catch (const Error& error) {
    fail_file("{}: {}", where, error.what());
  }
  if (c.family != Family::kEncoderDecoder || c.vocabulary == 0) return;
  struct Id {
    const char* name;
    int32_t id, least;
  };
  for (const Id& i : {Id{"start", c.tokens.start, 0},
                      {"eos", c.tokens.eos, 0},
                      {"unk", c.tokens.unk, -1},
                      {"pad", c.tokens.pad, -1}}) {
    if (i.id < i.least || i.id >= c.vocabulary) {
      fail_file("{}: the {} token is {}, expected an id from {} to {}", where, i.name, i.id, i.least, c.vocabulary - 1);
    }
  }
  const AlignmentHead& a = c.alignment;
  if (a.layer < -1 || a.layer >= c.decoder.layers || a.head < 0 || a.head >= c.decoder.heads) {
    fail_file("{}: words are aligned by head {} of decoder layer {}, but there are {} layers of {} heads", where,
              a.head, a.layer, c.decoder.layers, c.decoder.heads);
  }
}

// One list of fields serves both ways: Put writes them to JSON, Take reads them.
struct Put {
  json& to;
  template <class T>
  void operator()(const char* key, const T& value) {
    to[key] = value;
  }
  void operator()(const char* key, const float& value) { to[key] = static_cast<double>(value); }
  template <class Enum, size_t N>
  void choice(const char* key, const Enum& value, const Names<Enum, N>& names) {
    to[key] = names.name(value);
  }
  template <class Fields>
  void group(const char* key, Fields fields) {
    json inner = json::object();
    fields(Put{inner});
    to[key] = std::move(inner);
  }
};

struct Take {
  const json& from;
  std::string where;
  std::set<std::string>* known;

  const json& at(const char* key) {
    known->insert(key);
    const auto it = from.find(key);
    if (it == from.end()) fail_file("{}: '{}' is missing", where, key);
    return *it;
  }
  [[noreturn]] void wrong(const char* key, const char* expected) {
    fail_file("{}: '{}' is {}, expected {}", where, key, shown(from[key]), expected);
  }
  void operator()(const char* key, bool& value) {
    if (!at(key).is_boolean()) wrong(key, "true or false");
    value = from[key].get<bool>();
  }
  void operator()(const char* key, double& value) {
    if (!at(key).is_number()) wrong(key, "a number");
    value = from[key].get<double>();
  }
  void operator()(const char* key, float& value) {
    double wide = 0;
    (*this)(key, wide);
    value = static_cast<float>(wide);
  }
  void operator()(const char* key, int64_t& value) {
    if (!is_whole(at(key))) wrong(key, "a whole number");
    value = from[key].get<int64_t>();
  }
  void operator()(const char* key, int32_t& value) {
    int64_t wide = 0;
    (*this)(key, wide);
    if (wide < -1 || wide > INT32_MAX) wrong(key, "an id");
    value = static_cast<int32_t>(wide);
  }
  template <class Enum, size_t N>
  void choice(const char* key, Enum& value, const Names<Enum, N>& names) {
    if (!at(key).is_string()) wrong(key, "a name");
    value = named(names, from[key].get<std::string>(), where + ": '" + key + "'");
  }
  template <class Fields>
  void group(const char* key, Fields fields) {
    if (!at(key).is_object()) wrong(key, "an object");
    std::set<std::string> inner_known;
    Take inner{from[key], where + ": " + key, &inner_known};
    fields(inner);
    inner.refuse_others();
  }
  void refuse_others() const {
    for (const auto& [key, value] : from.items()) {
      if (known->count(key)) continue;
      const std::string near = nearest(key, std::vector<std::string>(known->begin(), known->end()));
      fail_file("{}: unknown key {}{}", where, in_quotes(key), near.empty() ? "" : ", did you mean '" + near + "'?");
    }
  }
};

template <class Visit, class Stack>
void stack_fields(Visit v, Stack& s) {
  v("layers", s.layers), v("d_model", s.d_model), v("heads", s.heads), v("d_ff", s.d_ff);
  v("kv_heads", s.kv_heads), v("head_dim", s.head_dim);
  v.choice("norm", s.norm, kNorms), v.choice("norm_place", s.norm_place, kPlaces);
  v("final_norm", s.final_norm), v("norm_eps", s.norm_eps), v("norm_bias", s.norm_bias);
  v.choice("activation", s.activation, kActivations), v("gated", s.gated), v("bias", s.bias);
  v("init_deviation", s.init_deviation);
  v("with_attention", s.with_attention), v("with_cross_attention", s.with_cross_attention);
  v("with_feed_forward", s.with_feed_forward);
  v("with_residual", s.with_residual);
  v.group("positions", [&](auto&& p) {
    p.choice("kind", s.positions.kind, kPositions), p("max_length", s.positions.max_length);
    p("halves", s.positions.halves);
    p("rotary_base", s.positions.rotary_base), p("rotary_interleaved", s.positions.rotary_interleaved);
    p("t5_buckets", s.positions.t5_buckets), p("t5_max_distance", s.positions.t5_max_distance);
  });
  v.group("dropout", [&](auto&& d) {
    d("residual", s.dropout.residual), d("attention", s.dropout.attention);
    d("activation", s.dropout.activation), d("embedding", s.dropout.embedding);
  });
}

template <class Visit, class Model>
void model_fields(Visit v, Model& m) {
  v.choice("family", m.family, kFamilies);
  v.group("encoder", [&](auto&& e) { stack_fields(e, m.encoder); });
  v.group("decoder", [&](auto&& d) { stack_fields(d, m.decoder); });
  v("source_vocabulary", m.source_vocabulary), v("vocabulary", m.vocabulary);
  v("tie_embeddings", m.tie_embeddings), v("share_source", m.share_source);
  v("scale_embedding", m.scale_embedding), v("output_bias", m.output_bias);
  v("image_size", m.image_size), v("patch_size", m.patch_size), v("channels", m.channels), v("classes", m.classes);
  v.group("tokens", [&](auto&& t) {
    t("start", m.tokens.start), t("eos", m.tokens.eos), t("unk", m.tokens.unk), t("pad", m.tokens.pad);
  });
  v.group("alignment", [&](auto&& a) { a("layer", m.alignment.layer), a("head", m.alignment.head); });
}

bool fits_marian(const nn::StackConfig& s) {
  return s.norm == nn::NormKind::kLayer && s.norm_place == nn::NormPlace::kPost && !s.final_norm && s.norm_bias &&
         s.norm_eps == 1e-5f && s.bias && !s.gated && s.activation != Activation::kNone && s.with_attention &&
         s.with_cross_attention && s.with_feed_forward && s.with_residual && s.key_heads() == s.heads &&
         s.head_size() * s.heads == s.d_model &&
         (s.positions.kind == nn::PositionKind::kSinusoidal || s.positions.kind == nn::PositionKind::kLearned);
}

// Reads keys of a foreign config: those that are not asked for do not matter.
struct Foreign {
  const json& from;
  const std::string& where;

  const json& at(const char* key, const char* expected) const {
    const auto it = from.find(key);
    if (it == from.end()) fail_file("{}: '{}' is missing, expected {}", where, key, expected);
    return *it;
  }
  template <class T>
  T read(const char* key, const char* expected, bool right) const {
    if (!right) fail_file("{}: '{}' is {}, expected {}", where, key, shown(at(key, expected)), expected);
    return from[key].get<T>();
  }
  int64_t whole(const char* key) const {
    const char* expected = "a whole number";
    return read<int64_t>(key, expected, is_whole(at(key, expected)));
  }
  int64_t whole(const char* key, int64_t otherwise) const { return from.contains(key) ? whole(key) : otherwise; }
  int32_t id(const char* key) const {
    const int64_t wide = whole(key);
    return read<int32_t>(key, "an id", wide >= -1 && wide <= INT32_MAX);
  }
  bool flag(const char* key, bool otherwise) const {
    return from.contains(key) ? read<bool>(key, "true or false", from[key].is_boolean()) : otherwise;
  }
  float number(const char* key, double otherwise) const {
    return static_cast<float>(from.contains(key) ? read<double>(key, "a number", from[key].is_number()) : otherwise);
  }
  std::string text(const char* key) const {
    const char* expected = "a name";
    return read<std::string>(key, expected, at(key, expected).is_string());
  }
  void demand(const char* key, bool value) const {
    if (flag(key, value) != value) fail_file("{}: '{}' is {}: not supported, expected {}", where, key, !value, value);
  }
};

Activation marian_activation(const std::string& name, const std::string& where) {
  const Activation activation =
      name == "swish" ? Activation::kSilu : named(kActivations, name, where + ": 'activation_function'");
  if (activation == Activation::kNone)
    fail_file("{}: 'activation_function' is 'none', expected relu, gelu or swish", where);
  return activation;
}

nn::StackConfig marian_stack(const Foreign& f, const std::string& side) {
  nn::StackConfig s;
  s.layers = f.whole((side + "_layers").c_str());
  s.heads = f.whole((side + "_attention_heads").c_str());
  s.d_ff = f.whole((side + "_ffn_dim").c_str());
  s.d_model = f.whole("d_model");
  s.activation = marian_activation(f.text("activation_function"), f.where);
  s.norm_place = nn::NormPlace::kPost;
  s.final_norm = false;
  s.positions.max_length = f.whole("max_position_embeddings");
  s.positions.halves = true;
  s.dropout = {f.number("dropout", 0), f.number("attention_dropout", 0), f.number("activation_dropout", 0),
               f.number("dropout", 0)};
  return s;
}

}  // namespace

nlohmann::json heed_json(const ModelConfig& config) {
  json out = json::object();
  model_fields(Put{out}, config);
  return out;
}

ModelConfig from_heed_json(const nlohmann::json& from, const std::string& where) {
  ModelConfig config;
  std::set<std::string> known;
  Take take{from, where, &known};
  model_fields(take, config);
  take.refuse_others();
  check_read(config, where);
  return config;
}

ParsedConfig parse_config(std::string_view text, const std::string& where) {
  constexpr size_t kMost = size_t{16} << 20;
  if (text.size() > kMost) fail_file("{} has {} bytes: it is no config", where, text.size());
  json config = json::parse(text, nullptr, false);
  if (!config.is_object()) fail_file("{} is no JSON object", where);
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) fail_file("{} names no model_type", where);
  if (*type == "marian") return {from_marian_json(config, where), "marian"};
  if (*type != "heed") {
    fail_file("{}: a model of type {}, expected a translator (marian or heed)", where,
              in_quotes(type->get<std::string>()));
  }
  for (const char* key : {"model_type", "architectures", "heed_version"}) config.erase(key);
  return {from_heed_json(config, where), "heed"};
}

bool fits_marian(const ModelConfig& c) {
  const nn::StackConfig &e = c.encoder, &d = c.decoder;
  return c.family == Family::kEncoderDecoder && c.vocabulary > 0 && c.tie_embeddings && fits_marian(e) &&
         fits_marian(d) && e.activation == d.activation && e.positions.max_length == d.positions.max_length &&
         e.dropout.residual == d.dropout.residual && e.dropout.embedding == e.dropout.residual &&
         d.dropout.embedding == d.dropout.residual && e.dropout.attention == d.dropout.attention &&
         e.dropout.activation == d.dropout.activation;
}

nlohmann::json marian_json(const ModelConfig& c) {
  const nn::StackConfig &e = c.encoder, &d = c.decoder;
  return {
      {"model_type", "marian"},
      {"architectures", {"MarianMTModel"}},
      {"is_encoder_decoder", true},
      {"vocab_size", c.source_vocabulary},
      {"decoder_vocab_size", c.vocabulary},
      {"share_encoder_decoder_embeddings", c.share_source},
      {"tie_word_embeddings", true},
      {"scale_embedding", c.scale_embedding},
      {"static_position_embeddings", true},
      {"normalize_before", false},
      {"normalize_embedding", false},
      {"add_final_layer_norm", false},
      {"d_model", d.d_model},
      {"encoder_layers", e.layers},
      {"decoder_layers", d.layers},
      {"encoder_attention_heads", e.heads},
      {"decoder_attention_heads", d.heads},
      {"encoder_ffn_dim", e.d_ff},
      {"decoder_ffn_dim", d.d_ff},
      {"activation_function", kActivations.name(d.activation)},
      {"max_position_embeddings", d.positions.max_length},
      {"dropout", d.dropout.residual},
      {"attention_dropout", d.dropout.attention},
      {"activation_dropout", d.dropout.activation},
      {"decoder_start_token_id", c.tokens.start},
      {"eos_token_id", c.tokens.eos},
      {"forced_eos_token_id", c.tokens.eos},
      {"pad_token_id", c.tokens.pad},
      {"bos_token_id", nullptr},
      {"dtype", "float32"},
      {"heed",
       {{"unk_token_id", c.tokens.unk}, {"alignment_layer", c.alignment.layer}, {"alignment_head", c.alignment.head}}}};
}

nlohmann::json marian_generation_json(const ModelConfig& c) {
  return {{"decoder_start_token_id", c.tokens.start},
          {"eos_token_id", c.tokens.eos},
          {"forced_eos_token_id", c.tokens.eos},
          {"pad_token_id", c.tokens.pad},
          {"bad_words_ids", {{c.tokens.pad}, {c.tokens.unk}}},
          {"max_length", c.decoder.positions.max_length}};
}

ModelConfig from_marian_json(const nlohmann::json& from, const std::string& where) {
  const Foreign f{from, where};
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"}) f.demand(key, false);
  f.demand("tie_word_embeddings", true);
  ModelConfig c;
  c.encoder = marian_stack(f, "encoder");
  c.decoder = marian_stack(f, "decoder");
  c.source_vocabulary = f.whole("vocab_size");
  c.vocabulary = from.contains("decoder_vocab_size") && !from["decoder_vocab_size"].is_null()
                     ? f.whole("decoder_vocab_size")
                     : c.source_vocabulary;
  c.share_source = f.flag("share_encoder_decoder_embeddings", true);
  c.scale_embedding = f.flag("scale_embedding", false);
  c.output_bias = true;
  c.tokens.start = f.id("decoder_start_token_id");
  c.tokens.eos = f.id("eos_token_id");
  c.tokens.pad = f.id("pad_token_id");
  if (const auto own = from.find("heed"); own != from.end() && own->is_object()) {
    const Foreign h{*own, where};
    if (own->contains("unk_token_id")) c.tokens.unk = h.id("unk_token_id");
    c.alignment = {h.whole("alignment_layer", -1), h.whole("alignment_head", 0)};
  }
  check_read(c, where);
  return c;
}

}  // namespace heed::models
