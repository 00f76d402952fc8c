// LLaMA (transformers' LlamaForCausalLM), and what differs from it by keys alone: Qwen2, whose queries, keys and values
// have biases, and Mistral without its window.
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/models/architecture.h"
#include "heed/models/foreign_json.h"

namespace heed::models {
namespace {

using nlohmann::json;
using nn::RotaryScaling;

bool fits_but_for_biases(const ModelConfig& c) {
  const nn::StackConfig& s = c.decoder;
  return c.family == Family::kDecoder && c.vocabulary > 0 && !c.scale_embedding && !c.output_bias &&
         s.norm == nn::NormKind::kRms && s.norm_place == nn::NormPlace::kPre && s.final_norm && s.gated &&
         s.activation != kernels::Activation::kNone && s.with_attention && s.with_feed_forward && s.with_residual &&
         s.positions.kind == nn::PositionKind::kRotary && !s.positions.rotary_interleaved;
}

bool fits_llama(const ModelConfig& c) {
  const nn::StackConfig& s = c.decoder;
  return fits_but_for_biases(c) && (!s.bias || s.biases.attention_in == s.biases.attention_out);
}

bool fits_qwen2(const ModelConfig& c) {
  const nn::BiasConfig& b = c.decoder.biases;
  return fits_but_for_biases(c) && c.decoder.bias && b.attention_in && !b.attention_out && !b.feed_forward;
}

bool fits_none(const ModelConfig&) { return false; }  // what Mistral computes is written as LLaMA

json scaling_json(const nn::RotaryScale& s) {
  if (s.kind == RotaryScaling::kNone) return nullptr;
  if (s.kind == RotaryScaling::kLinear) return {{"rope_type", "linear"}, {"factor", s.factor}};
  return {{"rope_type", "llama3"},
          {"factor", s.factor},
          {"low_freq_factor", s.low_frequency_factor},
          {"high_freq_factor", s.high_frequency_factor},
          {"original_max_position_embeddings", s.original_length}};
}

json config(const ModelConfig& c) {
  const nn::StackConfig& s = c.decoder;
  json out = {{"model_type", "llama"},
              {"architectures", {"LlamaForCausalLM"}},
              {"vocab_size", c.vocabulary},
              {"hidden_size", s.d_model},
              {"intermediate_size", s.d_ff},
              {"num_hidden_layers", s.layers},
              {"num_attention_heads", s.heads},
              {"num_key_value_heads", s.key_heads()},
              {"head_dim", s.head_size()},
              {"hidden_act", activation_name(s.activation)},
              {"rms_norm_eps", s.norm_eps},
              {"max_position_embeddings", s.positions.max_length},
              {"rope_theta", s.positions.rotary_base},
              {"rope_scaling", scaling_json(s.positions.rotary_scale)},
              {"attention_bias", s.bias && s.biases.attention_in},
              {"mlp_bias", s.bias && s.biases.feed_forward},
              {"tie_word_embeddings", c.tie_embeddings},
              {"attention_dropout", s.dropout.attention},
              {"initializer_range", initializer_range(s)},
              {"dtype", "float32"},
              {"heed",
               {{"unk_token_id", c.tokens.unk},
                {"dropout", s.dropout.residual},
                {"embedding_dropout", s.dropout.embedding},
                {"activation_dropout", s.dropout.activation}}}};
  out.update(decoder_tokens_json(c.tokens));
  return out;
}

json qwen2_config(const ModelConfig& c) {
  json out = config(c);
  for (const char* key : {"attention_bias", "mlp_bias"}) out.erase(key);
  out.update(json{{"model_type", "qwen2"}, {"architectures", {"Qwen2ForCausalLM"}}, {"use_sliding_window", false}});
  return out;
}

json generation(const ModelConfig& c) { return decoder_tokens_json(c.tokens); }

void read_scaling(const Foreign& r, nn::RotaryScale& scale) {
  const std::string kind = r.has("rope_type") ? r.text("rope_type") : r.has("type") ? r.text("type") : "default";
  if (kind == "default") return;
  if (kind != "linear" && kind != "llama3") {
    fail_file("{}: rotary positions of kind {}: not supported, expected default, linear or llama3", r.where,
              in_quotes(kind));
  }
  scale.kind = kind == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
  scale.factor = r.number("factor");
  if (scale.kind == RotaryScaling::kLinear) return;
  scale.low_frequency_factor = r.number("low_freq_factor");
  scale.high_frequency_factor = r.number("high_freq_factor");
  scale.original_length = r.count("original_max_position_embeddings");
}

// The base beside the scaling, or since transformers 5 all of it in "rope_parameters".
void read_rotary(const Foreign& f, nn::PositionConfig& p) {
  p.kind = nn::PositionKind::kRotary;
  p.rotary_base = f.number("rope_theta", 10000);
  double turned = f.number("partial_rotary_factor", 1);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!f.has(key)) continue;
    const json& found = f.from[key];
    const std::string where = f.where + ": '" + key + "'";
    if (!found.is_object()) fail_file("{} is {}, expected an object", where, shown(found));
    for (const auto& [name, value] : found.items()) {
      if (value.is_structured()) fail_file("{}: {} is {}: not supported", where, in_quotes(name), shown(value));
    }
    const Foreign r{found, where};
    p.rotary_base = r.number("rope_theta", p.rotary_base);
    turned = r.number("partial_rotary_factor", turned);
    read_scaling(r, p.rotary_scale);
  }
  if (turned != 1) fail_file("{}: 'partial_rotary_factor' is {}: not supported, expected 1", f.where, turned);
}

void refuse_window(const Foreign& f, int64_t window, int64_t length) {
  if (window < length) {
    fail_file("{}: 'sliding_window' is {}, below the context of {}: not supported, expected none", f.where, window,
              length);
  }
}

ModelConfig read_common(const Foreign& f, Foreign::UnsaidIds unsaid = {1, 2}) {
  ModelConfig c;
  c.family = Family::kDecoder;
  c.scale_embedding = false;
  c.vocabulary = f.count("vocab_size");
  c.tie_embeddings = f.flag("tie_word_embeddings", false);
  nn::StackConfig& s = c.decoder;
  s.layers = f.whole("num_hidden_layers");
  s.d_model = f.count("hidden_size");
  s.heads = f.count("num_attention_heads");
  s.d_ff = f.count("intermediate_size");
  s.kv_heads = f.count("num_key_value_heads", s.heads);
  const int64_t head = f.count("head_dim", 0);
  const bool plain = s.heads > 0 && s.d_model % s.heads == 0 && head == s.d_model / s.heads;
  s.head_dim = plain ? 0 : head;
  s.norm = nn::NormKind::kRms;
  s.norm_eps = static_cast<float>(f.number("rms_norm_eps", 1e-6));
  s.activation = f.has("hidden_act") ? f.activation("hidden_act") : kernels::Activation::kSilu;
  s.gated = true;
  s.positions.max_length = f.count("max_position_embeddings");
  read_rotary(f, s.positions);
  s.init_deviation = static_cast<float>(f.number("initializer_range", 0.02));
  s.dropout.attention = static_cast<float>(f.number("attention_dropout", 0));
  c.tokens = f.decoder_tokens(c.vocabulary, unsaid);
  if (const auto own = f.from.find("heed"); own != f.from.end() && own->is_object()) {
    const Foreign h{*own, f.where};
    if (h.has("unk_token_id")) c.tokens.unk = h.id("unk_token_id");
    s.dropout.residual = static_cast<float>(h.number("dropout", 0));
    s.dropout.embedding = static_cast<float>(h.number("embedding_dropout", 0));
    s.dropout.activation = static_cast<float>(h.number("activation_dropout", 0));
  }
  if (!f.has("layer_types")) return c;
  for (const json& kind : f.from["layer_types"]) {
    if (kind != "full_attention") {
      fail_file("{}: 'layer_types' holds {}: not supported, expected full_attention", f.where, shown(kind));
    }
  }
  return c;
}

// pretraining_tp cuts the products in slices and adds them up: the same numbers, whatever it says.
ModelConfig read_llama(const Foreign& f) {
  ModelConfig c = read_common(f);
  nn::StackConfig& s = c.decoder;
  refuse_window(f, f.whole("sliding_window", s.positions.max_length), s.positions.max_length);
  const bool attention = f.flag("attention_bias", false), feed_forward = f.flag("mlp_bias", false);
  s.bias = attention || feed_forward;
  if (s.bias) s.biases = {attention, attention, feed_forward};
  return c;
}

ModelConfig read_qwen2(const Foreign& f) {
  ModelConfig c = read_common(f, {});
  nn::StackConfig& s = c.decoder;
  if (f.flag("use_sliding_window", false)) refuse_window(f, f.whole("sliding_window", 4096), s.positions.max_length);
  s.kv_heads = f.count("num_key_value_heads");
  s.biases = {true, false, false};
  return c;
}

ModelConfig read_mistral(const Foreign& f) {
  ModelConfig c = read_common(f);
  nn::StackConfig& s = c.decoder;
  const bool none = f.from.contains("sliding_window") && f.from["sliding_window"].is_null();
  if (!none) refuse_window(f, f.whole("sliding_window", 4096), s.positions.max_length);
  s.kv_heads = f.count("num_key_value_heads");
  s.bias = false;
  return c;
}

constexpr NamePart kParts[] = {
    {"decoder.", "model."},
    {"embedding.", "model.embed_tokens."},
    {".self_attn.out_proj.", ".self_attn.o_proj."},
    {".self_attn_norm.", ".input_layernorm."},
    {".feed_forward.", ".mlp."},
    {".feed_forward_norm.", ".post_attention_layernorm."},
};

WeightsLayout layout(const ModelConfig& c) {
  const auto names = [tied = c.tie_embeddings](const std::string& ours) -> StoredAs {
    if (ours == "output.weight") return {{"lm_head.weight"}};
    StoredAs stored = renamed(ours, kParts);
    if (tied && ours == "embedding.weight") stored.names.emplace_back("lm_head.weight");
    return stored;
  };
  // Frequencies that every layer computes for itself.
  const auto ignored = [](const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); };
  return {names, ignored};
}

}  // namespace

const Architecture kLlama = {"llama", fits_llama, config, generation, read_llama, nullptr, layout, nullptr};
const Architecture kQwen2 = {"qwen2", fits_qwen2, qwen2_config, generation, read_qwen2, nullptr, layout, nullptr};
const Architecture kMistral = {"mistral", fits_none, config, generation, read_mistral, nullptr, layout, nullptr};

}  // namespace heed::models
