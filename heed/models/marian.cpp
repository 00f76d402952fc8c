// Marian's translators (transformers' MarianMTModel). What the config leaves open is told by the tables of positions and
// the output bias; heed's order of sines and cosines goes along as such a table.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "heed/models/architecture.h"
#include "heed/models/foreign_json.h"
#include "heed/nn/positions.h"

namespace heed::models {
namespace {

using nlohmann::json;

constexpr const char* kOutputBias = "final_logits_bias";
constexpr const char* kPositions[] = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"};

bool fits_stack(const nn::StackConfig& s) {
  return s.norm == nn::NormKind::kLayer && s.norm_place == nn::NormPlace::kPost && !s.final_norm && s.norm_bias &&
         s.norm_eps == 1e-5f && s.bias && s.biases.all() && !s.gated && s.activation != kernels::Activation::kNone &&
         s.with_attention && s.with_cross_attention && s.with_feed_forward && s.with_residual &&
         s.key_heads() == s.heads && s.head_size() * s.heads == s.d_model &&
         (s.positions.kind == nn::PositionKind::kSinusoidal || s.positions.kind == nn::PositionKind::kLearned);
}

bool fits(const ModelConfig& c) {
  const nn::StackConfig &e = c.encoder, &d = c.decoder;
  return c.family == Family::kEncoderDecoder && c.vocabulary > 0 && c.tie_embeddings && fits_stack(e) &&
         fits_stack(d) && e.activation == d.activation && e.positions.max_length == d.positions.max_length &&
         e.dropout.residual == d.dropout.residual && e.dropout.embedding == e.dropout.residual &&
         d.dropout.embedding == d.dropout.residual && e.dropout.attention == d.dropout.attention &&
         e.dropout.activation == d.dropout.activation && c.tokens.more_ends.empty();
}

// What Marian's config has no key for.
json own_keys(const ModelConfig& c) {
  json own = {
      {"unk_token_id", c.tokens.unk}, {"alignment_layer", c.alignment.layer}, {"alignment_head", c.alignment.head}};
  if (c.trained_length > 0) own["trained_length"] = c.trained_length;
  return own;
}

json config(const ModelConfig& c) {
  const nn::StackConfig &e = c.encoder, &d = c.decoder;
  return {{"model_type", "marian"},
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
          {"activation_function", activation_name(d.activation)},
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
          {"heed", own_keys(c)}};
}

json generation(const ModelConfig& c) {
  return {{"decoder_start_token_id", c.tokens.start},
          {"eos_token_id", c.tokens.eos},
          {"forced_eos_token_id", c.tokens.eos},
          {"pad_token_id", c.tokens.pad},
          {"bad_words_ids", {{c.tokens.pad}, {c.tokens.unk}}},
          {"max_length", c.decoder.positions.max_length}};
}

nn::StackConfig read_stack(const Foreign& f, const std::string& side) {
  const auto rate = [&](const char* key) { return static_cast<float>(f.number(key, 0)); };
  nn::StackConfig s;
  s.layers = f.whole((side + "_layers").c_str());
  s.heads = f.count((side + "_attention_heads").c_str());
  s.d_ff = f.count((side + "_ffn_dim").c_str());
  s.d_model = f.count("d_model");
  s.activation = f.activation("activation_function");
  s.norm_place = nn::NormPlace::kPost;
  s.final_norm = false;
  s.positions.max_length = f.count("max_position_embeddings");
  s.positions.halves = true;
  s.dropout = {rate("dropout"), rate("attention_dropout"), rate("activation_dropout"), rate("dropout")};
  return s;
}

// The positions are those that Marian computes itself; a table in the weights may say otherwise.
ModelConfig read(const Foreign& f) {
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"})
    f.demand(key, false, false);
  f.demand("tie_word_embeddings", true, true);
  ModelConfig c;
  c.encoder = read_stack(f, "encoder");
  c.decoder = read_stack(f, "decoder");
  c.source_vocabulary = f.count("vocab_size");
  c.vocabulary = f.count("decoder_vocab_size", c.source_vocabulary);
  c.share_source = f.flag("share_encoder_decoder_embeddings", true);
  c.scale_embedding = f.flag("scale_embedding", false);
  c.output_bias = true;
  c.tokens.start = f.id("decoder_start_token_id");
  c.tokens.eos = f.id("eos_token_id");
  c.tokens.pad = f.id("pad_token_id");
  if (const auto own = f.from.find("heed"); own != f.from.end() && own->is_object()) {
    const Foreign h{*own, f.where};
    if (own->contains("unk_token_id")) c.tokens.unk = h.id("unk_token_id");
    c.alignment = {h.whole("alignment_layer", -1), h.whole("alignment_head", 0)};
    c.trained_length = h.whole("trained_length", 0);
  }
  return c;
}

bool same_table(const StoredTensor& stored, int64_t dim, void (*fill)(float*, int64_t, int64_t)) {
  if (stored.shape.size() != 2 || stored.shape[1] != dim) return false;
  std::vector<float> theirs(static_cast<size_t>(stored.elements())), ours(theirs.size());
  to_f32(stored, theirs.data());
  fill(ours.data(), stored.shape[0], dim);
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!(std::abs(theirs[i] - ours[i]) < 1e-4f)) return false;
  }
  return true;
}

// A table of positions in the file says what the config does not: heed's order, Marian's, or one that was learned.
void look_at_positions(const StoredTensor* stored, nn::StackConfig& stack) {
  if (stored == nullptr) return;
  if (same_table(*stored, stack.d_model, nn::sinusoidal)) {
    stack.positions.halves = false;
  } else if (!same_table(*stored, stack.d_model, nn::sinusoidal_halves)) {
    stack.positions.kind = nn::PositionKind::kLearned;
    stack.positions.halves = false;
  }
}

// Marian always stores a bias, also where none was trained.
bool all_zero(const StoredTensor& stored) {
  return std::all_of(stored.bytes.begin(), stored.bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

void look(const ShardedTensors& weights, ModelConfig& c) {
  look_at_positions(weights.find(kPositions[0]), c.encoder);
  look_at_positions(weights.find(kPositions[1]), c.decoder);
  const StoredTensor* bias = weights.find(kOutputBias);
  c.output_bias = bias != nullptr && !all_zero(*bias);
}

constexpr NamePart kParts[] = {
    {".self_attn_norm.", ".self_attn_layer_norm."},
    {".cross_attn_norm.", ".encoder_attn_layer_norm."},
    {".feed_forward_norm.", ".final_layer_norm."},
    {".cross_attn.", ".encoder_attn."},
    {".feed_forward.up_proj.", ".fc1."},
    {".feed_forward.down_proj.", ".fc2."},
};

Naming names(const ModelConfig& c) {
  return [shared = c.share_source](const std::string& ours) -> StoredAs {
    if (ours == "shared.weight" && shared) {
      return {{"model.shared.weight", "lm_head.weight", "model.encoder.embed_tokens.weight",
               "model.decoder.embed_tokens.weight"}};
    }
    if (ours == "shared.weight") return {{"model.decoder.embed_tokens.weight", "lm_head.weight"}};
    if (ours == "source.weight") return {{"model.encoder.embed_tokens.weight"}};
    if (ours == "output_bias") return {{kOutputBias}, true, true};
    if (ours == "encoder.positions.weight") return {{kPositions[0]}};
    if (ours == "decoder.positions.weight") return {{kPositions[1]}};
    return renamed("model." + ours, kParts);
  };
}

WeightsLayout layout(const ModelConfig& c) {
  const auto ignored = [c](const std::string& name) {
    const auto computed = [](const nn::StackConfig& s) { return s.positions.kind == nn::PositionKind::kSinusoidal; };
    return (name == kOutputBias && !c.output_bias) || (name == kPositions[0] && computed(c.encoder)) ||
           (name == kPositions[1] && computed(c.decoder));
  };
  return {names(c), ignored};
}

void add_table(const char* name, const nn::StackConfig& stack, TensorsToWrite& tensors) {
  if (stack.positions.kind != nn::PositionKind::kSinusoidal || stack.positions.halves) return;
  const int64_t length = stack.positions.max_length;
  std::vector<float> table(static_cast<size_t>(length * stack.d_model));
  nn::sinusoidal(table.data(), length, stack.d_model);
  tensors.add(name, {length, stack.d_model}, std::move(table));
}

void add_more(const ModelConfig& c, TensorsToWrite& tensors) {
  if (!c.output_bias) {
    tensors.add(kOutputBias, {1, c.vocabulary}, std::vector<float>(static_cast<size_t>(c.vocabulary)));
  }
  add_table(kPositions[0], c.encoder, tensors);
  add_table(kPositions[1], c.decoder, tensors);
}

}  // namespace

const Architecture kMarian = {"marian", fits, config, generation, read, look, layout, add_more};

}  // namespace heed::models
