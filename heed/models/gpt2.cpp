// GPT-2 (transformers' GPT2LMHeadModel). Its linear maps are stored (in, out), query, key and value in one.
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/models/architecture.h"
#include "heed/models/foreign_json.h"

namespace heed::models {
namespace {

using nlohmann::json;

bool fits(const ModelConfig& c) {
  const nn::StackConfig& s = c.decoder;
  return c.family == Family::kDecoder && c.vocabulary > 0 && !c.scale_embedding && !c.output_bias &&
         s.norm == nn::NormKind::kLayer && s.norm_place == nn::NormPlace::kPre && s.final_norm && s.norm_bias &&
         s.bias && s.biases.all() && !s.gated && s.activation != kernels::Activation::kNone && s.with_attention &&
         s.with_feed_forward && s.with_residual && s.key_heads() == s.heads && s.head_size() * s.heads == s.d_model &&
         s.positions.kind == nn::PositionKind::kLearned;
}

json config(const ModelConfig& c) {
  const nn::StackConfig& s = c.decoder;
  json out = {{"model_type", "gpt2"},
              {"architectures", {"GPT2LMHeadModel"}},
              {"vocab_size", c.vocabulary},
              {"n_positions", s.positions.max_length},
              {"n_ctx", s.positions.max_length},
              {"n_embd", s.d_model},
              {"n_layer", s.layers},
              {"n_head", s.heads},
              {"n_inner", s.d_ff},
              {"activation_function", activation_name(s.activation)},
              {"layer_norm_epsilon", s.norm_eps},
              {"scale_attn_weights", true},
              {"scale_attn_by_inverse_layer_idx", false},
              {"reorder_and_upcast_attn", false},
              {"add_cross_attention", false},
              {"tie_word_embeddings", c.tie_embeddings},
              {"resid_pdrop", s.dropout.residual},
              {"embd_pdrop", s.dropout.embedding},
              {"attn_pdrop", s.dropout.attention},
              {"initializer_range", initializer_range(s)},
              {"dtype", "float32"},
              {"heed", {{"unk_token_id", c.tokens.unk}, {"activation_dropout", s.dropout.activation}}}};
  out.update(decoder_tokens_json(c.tokens));
  return out;
}

json generation(const ModelConfig& c) { return decoder_tokens_json(c.tokens); }

ModelConfig read(const Foreign& f) {
  f.demand("scale_attn_weights", true, true);
  f.demand("scale_attn_by_inverse_layer_idx", false, false);
  f.demand("add_cross_attention", false, false);
  f.demand_none("pruned_heads");
  f.flag("reorder_and_upcast_attn", false);  // the same numbers, but for the rounding of half precision
  const auto rate = [&](const char* key) { return static_cast<float>(f.number(key, 0.1)); };
  ModelConfig c;
  c.family = Family::kDecoder;
  c.scale_embedding = false;
  c.vocabulary = f.count("vocab_size");
  c.tie_embeddings = f.flag("tie_word_embeddings", true);
  nn::StackConfig& s = c.decoder;
  s.layers = f.whole("n_layer");
  s.d_model = f.count("n_embd");
  s.heads = f.count("n_head");
  s.d_ff = f.has("n_inner") ? f.count("n_inner") : 4 * s.d_model;
  s.activation = f.has("activation_function") ? f.activation("activation_function") : kernels::Activation::kGeluTanh;
  s.norm_eps = static_cast<float>(f.number("layer_norm_epsilon", 1e-5));
  s.positions.kind = nn::PositionKind::kLearned;
  s.positions.max_length = f.count("n_positions");
  s.init_deviation = static_cast<float>(f.number("initializer_range", 0.02));
  s.dropout = {rate("resid_pdrop"), rate("attn_pdrop"), 0, rate("embd_pdrop")};
  c.tokens = f.decoder_tokens(c.vocabulary, {50256, 50256});
  if (const auto own = f.from.find("heed"); own != f.from.end() && own->is_object()) {
    const Foreign h{*own, f.where};
    if (h.has("unk_token_id")) c.tokens.unk = h.id("unk_token_id");
    s.dropout.activation = static_cast<float>(h.number("activation_dropout", 0));
  }
  return c;
}

constexpr NamePart kParts[] = {
    {"decoder.layers.", "h."},
    {"decoder.norm.", "ln_f."},
    {"decoder.positions.", "wpe."},
    {"embedding.", "wte."},
    {".self_attn.q_proj.", ".attn.c_attn.", 0, 3},
    {".self_attn.k_proj.", ".attn.c_attn.", 1, 3},
    {".self_attn.v_proj.", ".attn.c_attn.", 2, 3},
    {".self_attn.out_proj.", ".attn.c_proj."},
    {".self_attn_norm.", ".ln_1."},
    {".feed_forward.up_proj.", ".mlp.c_fc."},
    {".feed_forward.down_proj.", ".mlp.c_proj."},
    {".feed_forward_norm.", ".ln_2."},
};

WeightsLayout layout(const ModelConfig& c) {
  const auto names = [tied = c.tie_embeddings](const std::string& ours) -> StoredAs {
    if (ours == "output.weight") return {{"lm_head.weight"}};
    StoredAs stored = renamed(ours, kParts);
    stored.in_out = true;
    // The oldest files hold the body alone, without the prefix.
    stored.names.insert(stored.names.begin(), "transformer." + stored.names[0]);
    if (tied && ours == "embedding.weight") stored.names.emplace_back("lm_head.weight");
    return stored;
  };
  // The causal mask, as old files store it in every layer.
  const auto ignored = [](const std::string& name) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  };
  return {names, ignored};
}

}  // namespace

const Architecture kGpt2 = {"gpt2", fits, config, generation, read, nullptr, layout, nullptr};

}  // namespace heed::models
