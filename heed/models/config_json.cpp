#include "heed/models/config_json.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"
#include "heed/models/architecture.h"
#include "heed/models/foreign_json.h"

namespace heed::models {
namespace {

using nlohmann::json;

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
constexpr Names<nn::RotaryScaling, 3> kScalings{{{{nn::RotaryScaling::kNone, "none"},
                                                  {nn::RotaryScaling::kLinear, "linear"},
                                                  {nn::RotaryScaling::kLlama3, "llama3"}}}};
constexpr Names<nn::PositionKind, 6> kPositions{{{{nn::PositionKind::kNone, "none"},
                                                  {nn::PositionKind::kSinusoidal, "sinusoidal"},
                                                  {nn::PositionKind::kLearned, "learned"},
                                                  {nn::PositionKind::kRotary, "rotary"},
                                                  {nn::PositionKind::kAlibi, "alibi"},
                                                  {nn::PositionKind::kT5, "t5"}}}};

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
  // What most models lack, and configs of earlier versions do: written where there is something to say.
  template <class Fields>
  void group_unless(bool usual, const char* key, Fields fields) {
    if (!usual) group(key, fields);
  }
  void ids(const char* key, const std::vector<int32_t>& value) {
    if (!value.empty()) to[key] = value;
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
  template <class Fields>
  void group_unless(bool, const char* key, Fields fields) {
    if (from.contains(key)) group(key, fields);
  }
  void ids(const char* key, std::vector<int32_t>& value) {
    if (!from.contains(key)) return;
    if (!at(key).is_array()) wrong(key, "a list of ids");
    for (const json& id : from[key]) {
      if (!is_whole(id) || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) wrong(key, "a list of ids");
      value.push_back(id.get<int32_t>());
    }
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
  v.group_unless(s.biases.all(), "biases", [&](auto&& b) {
    b("attention_in", s.biases.attention_in), b("attention_out", s.biases.attention_out);
    b("feed_forward", s.biases.feed_forward);
  });
  v("init_deviation", s.init_deviation);
  v("with_attention", s.with_attention), v("with_cross_attention", s.with_cross_attention);
  v("with_feed_forward", s.with_feed_forward);
  v("with_residual", s.with_residual);
  v.group("positions", [&](auto&& p) {
    p.choice("kind", s.positions.kind, kPositions), p("max_length", s.positions.max_length);
    p("halves", s.positions.halves);
    p("rotary_base", s.positions.rotary_base), p("rotary_interleaved", s.positions.rotary_interleaved);
    auto& scale = s.positions.rotary_scale;
    p.group_unless(scale.kind == nn::RotaryScaling::kNone, "rotary_scale", [&](auto&& r) {
      r.choice("kind", scale.kind, kScalings), r("factor", scale.factor);
      r("low_frequency_factor", scale.low_frequency_factor);
      r("high_frequency_factor", scale.high_frequency_factor), r("original_length", scale.original_length);
    });
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
    t.ids("more_ends", m.tokens.more_ends);
  });
  v.group("alignment", [&](auto&& a) { a("layer", m.alignment.layer), a("head", m.alignment.head); });
  v.group_unless(m.trained_length == 0, "trained", [&](auto&& t) { t("length", m.trained_length); });
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

// What `heed quantize` wrote: the tensors themselves say how.
bool heed_quantised(const json& config) {
  const auto key = config.find("quantization_config");
  if (key == config.end() || !key->is_object()) return false;
  const auto method = key->find("quant_method");
  return method != key->end() && *method == "heed";
}

ModelConfig from_published(const nlohmann::json& from, const std::string& type, const std::string& where) {
  const Architecture* architecture = find_architecture(type);
  if (architecture == nullptr) {
    std::vector<std::string> known;
    for (const Architecture* a : architectures()) known.emplace_back(a->type);
    fail_file("{}: a model of type {}, expected {} or heed", where, in_quotes(type), fmt::join(known, ", "));
  }
  const Foreign foreign{from, where};
  if (!heed_quantised(from)) foreign.demand_none("quantization_config");
  const ModelConfig config = architecture->read(foreign);
  check_read(config, where);
  return config;
}

ParsedConfig parse_config(std::string_view text, const std::string& where) {
  constexpr size_t kMost = size_t{16} << 20;
  if (text.size() > kMost) fail_file("{} has {} bytes: it is no config", where, text.size());
  json config = parse_bounded(text);
  if (!config.is_object()) fail_file("{} is no JSON object", where);
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) fail_file("{} names no model_type", where);
  if (*type != "heed") return {from_published(config, type->get<std::string>(), where), *type};
  if (heed_quantised(config)) config.erase("quantization_config");
  for (const char* key : {"model_type", "architectures", "heed_version"}) config.erase(key);
  return {from_heed_json(config, where), "heed"};
}

}  // namespace heed::models
