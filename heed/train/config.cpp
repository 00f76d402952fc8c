#include "heed/train/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/kernels/gemm.h"

namespace heed::train {
namespace {

const std::vector<std::string> kTranslatorPresets = {"auto", "tiny", "small", "base"};

// What a preset fills in where the config is silent.
struct Preset {
  const char* name;
  int64_t layers, d_model, d_ff, heads;
  double dropout;
  int64_t batch_tokens;
  double learning_rate;
  int64_t warmup, vocabulary;
};
constexpr Preset kPresets[] = {
    {"tiny", 4, 128, 256, 4, 0.3, 4096, 5e-3, 2000, 8000},
    {"small", 6, 256, 1024, 4, 0.2, 4096, 1.5e-3, 2000, 16000},
    {"base", 6, 512, 2048, 8, 0.1, 4096, 7e-4, 4000, 32000},
};

const Preset& preset_named(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name == p.name) return p;
  }
  fail("[config] model.preset is '{}': expected {}", name, fmt::join(kTranslatorPresets, ", "));
}

kernels::Activation activation_named(const std::string& name) {
  if (name == "gelu") return kernels::Activation::kGelu;
  return name == "silu" ? kernels::Activation::kSilu : kernels::Activation::kRelu;
}

}  // namespace

std::string ConfigField::flag() const {
  std::string name = key;
  const size_t dot = name.find('.');
  name = name.starts_with("valid.") ? "valid_" + name.substr(dot + 1) : name.substr(dot + 1);
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::vector<ConfigField> config_fields(TrainConfig& c) {
  return {
      {"data.src", &c.data.src, "source sentences, one a line; .gz too; several files"},
      {"data.tgt", &c.data.tgt, "their translations, as many lines"},
      {"data.tsv", &c.data.tsv, "instead of the two: source<TAB>target"},
      {"data.valid_src", &c.data.valid_src, "source sentences to validate with"},
      {"data.valid_tgt", &c.data.valid_tgt, "their translations"},
      {"data.valid_tsv", &c.data.valid_tsv, "instead of the two"},
      {"data.bad_lines", &c.data.bad_lines, "empty, over-long or not UTF-8: skip or refuse", {"skip", "refuse"}},
      {"data.max_length", &c.data.max_length, "tokens of a sentence; longer pairs count as bad lines", {}, 2, 65536},
      {"text.tokenizer", &c.text.tokenizer, "bpe, unigram, word, char or byte", text::tokenizer_kind_names()},
      {"text.vocabulary",
       &c.text.vocabulary,
       "pieces of the vocabulary; 0: as many as the text is worth",
       {},
       0,
       1 << 24},
      {"text.joint", &c.text.joint, "one vocabulary for both languages"},
      {"text.normalization",
       &c.text.normalization,
       "of the text, by SentencePiece's name",
       {"identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"}},
      {"model.preset", &c.model.preset, "auto, tiny, small or base", kTranslatorPresets},
      {"model.encoder_layers", &c.model.encoder_layers, "0: the preset's", {}, 0, 1000},
      {"model.decoder_layers", &c.model.decoder_layers, "0: the preset's", {}, 0, 1000},
      {"model.d_model", &c.model.d_model, "features of a token; 0: the preset's", {}, 0, 1 << 20},
      {"model.d_ff", &c.model.d_ff, "inner features of the feed-forward; 0: the preset's", {}, 0, 1 << 22},
      {"model.heads", &c.model.heads, "of every attention; 0: the preset's", {}, 0, 1 << 14},
      {"model.norm_place", &c.model.norm_place, "post (the paper) or pre", {"", "post", "pre"}},
      {"model.activation", &c.model.activation, "relu, gelu or silu", {"", "relu", "gelu", "silu"}},
      {"model.positions",
       &c.model.positions,
       "sinusoidal, learned, rotary, alibi, t5 or none",
       {"", "sinusoidal", "learned", "rotary", "alibi", "t5", "none"}},
      {"model.dropout", &c.model.dropout, "on residuals and embeddings; -1: the preset's", {}, -1, 0.999},
      {"model.attention_dropout", &c.model.attention_dropout, "on attention weights; -1: the preset's", {}, -1, 0.999},
      {"model.activation_dropout",
       &c.model.activation_dropout,
       "inside the feed-forward; -1: the preset's",
       {},
       -1,
       0.999},
      {"model.share_embeddings", &c.model.share_embeddings, "source and target share theirs (needs joint)"},
      {"train.max_steps", &c.train.max_steps, "stop after so many; 0: no limit"},
      {"train.max_epochs", &c.train.max_epochs, "rounds over the data; 0: no limit"},
      {"train.max_minutes", &c.train.max_minutes, "of training, all resumes together; 0: no limit", {}, 0, 1e7},
      {"train.batch_tokens", &c.train.batch_tokens, "of a step's batch at most, the larger side", {}, 0, 1 << 24},
      {"train.accumulate", &c.train.accumulate, "batches that make a step", {}, 1, 4096},
      {"train.optimizer", &c.train.optimizer, "adam, adamw or sgd", {"adam", "adamw", "sgd"}},
      {"train.beta1", &c.train.beta1, "of Adam; the momentum of SGD", {}, 0, 0.99999},
      {"train.beta2", &c.train.beta2, "of Adam", {}, 0, 0.9999999},
      {"train.eps", &c.train.eps, "of Adam", {}, 1e-30, 1},
      {"train.weight_decay", &c.train.weight_decay, "of AdamW and SGD", {}, 0, 10},
      {"train.clip", &c.train.clip, "gradients to this norm; 0: not", {}, 0, 1e9},
      {"train.smoothing", &c.train.smoothing, "of the labels", {}, 0, 0.999},
      {"train.schedule", &c.train.schedule, "of the learning rate", schedule_kinds()},
      {"train.learning_rate", &c.train.learning_rate, "when the warm-up ends; 0: the preset's", {}, 0, 1000},
      {"train.minimum_rate", &c.train.minimum_rate, "where the schedule ends", {}, 0, 1000},
      {"train.warmup", &c.train.warmup, "steps; 0: the preset's"},
      {"train.precision", &c.train.precision, "of the products: f32, bf16 or auto", {"auto", "f32", "bf16"}},
      {"train.average_decay", &c.train.average_decay, "of a moving average of the weights; 0: none", {}, 0, 0.9999999},
      {"train.average_last",
       &c.train.average_last,
       "the model is the mean of the last so many checkpoints; 0: the best",
       {},
       0,
       1000},
      {"train.bad_loss", &c.train.bad_loss, "when a loss is no number: skip the step or stop", {"skip", "stop"}},
      {"train.seed", &c.train.seed, "of everything random"},
      {"valid.every", &c.valid.every, "steps; 0: once an epoch"},
      {"valid.metric", &c.valid.metric, "that picks the best checkpoint", {"bleu", "chrf", "loss"}},
      {"valid.patience", &c.valid.patience, "validations without a better one before it stops; 0: never", {}, 0, 1e6},
      {"valid.beam", &c.valid.beam, "of its translations", {}, 1, 64},
      {"valid.samples", &c.valid.samples, "translations shown each time", {}, 0, 100},
      {"valid.max_sentences", &c.valid.max_sentences, "that are translated each time; 0: none, the loss alone"},
      {"valid.bleu_tokens", &c.valid.bleu_tokens, "how BLEU splits words", {"13a", "none", "char", "intl"}},
      {"valid.lowercase", &c.valid.lowercase, "BLEU and chrF without regard to case"},
      {"save.out", &c.save.out, "MODEL, the directory to write"},
      {"save.save_every", &c.save.every, "steps between checkpoints; 0: with every validation"},
      {"save.keep", &c.save.keep, "checkpoints kept", {}, 1, 100000},
      {"save.tensorboard", &c.save.tensorboard, "also write TensorBoard event files"},
  };
}

models::ModelConfig model_config(const TrainConfig& config, int64_t source_vocabulary, int64_t target_vocabulary) {
  const TrainConfig::Model& m = config.model;
  models::ModelConfig c;
  nn::StackConfig s;
  s.d_model = m.d_model, s.d_ff = m.d_ff, s.heads = m.heads;
  s.norm_place = m.norm_place == "pre" ? nn::NormPlace::kPre : nn::NormPlace::kPost;
  s.final_norm = s.norm_place == nn::NormPlace::kPre;
  s.activation = activation_named(m.activation);
  s.positions.kind = nn::position_kind(m.positions);
  s.positions.max_length = std::max<int64_t>(512, 2 * config.data.max_length);
  const auto residual = static_cast<float>(m.dropout);
  s.dropout = {residual, static_cast<float>(m.attention_dropout), static_cast<float>(m.activation_dropout), residual};
  c.encoder = c.decoder = s;
  c.encoder.layers = m.encoder_layers;
  c.decoder.layers = m.decoder_layers;
  c.source_vocabulary = source_vocabulary;
  c.vocabulary = target_vocabulary;
  c.share_source = m.share_embeddings && config.text.joint;
  c.check();
  return c;
}

OptimizerConfig optimizer_config(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  OptimizerConfig o;
  o.kind = t.optimizer == "sgd"     ? OptimizerKind::kSgd
           : t.optimizer == "adamw" ? OptimizerKind::kAdamW
                                    : OptimizerKind::kAdam;
  o.beta1 = static_cast<float>(t.beta1), o.beta2 = static_cast<float>(t.beta2), o.eps = static_cast<float>(t.eps);
  o.momentum = static_cast<float>(t.beta1);
  o.weight_decay = static_cast<float>(t.weight_decay);
  o.clip_norm = static_cast<float>(t.clip);
  return o;
}

Schedule schedule_of(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  return {schedule_kind(t.schedule), t.learning_rate, config.model.d_model, t.warmup, t.max_steps, t.minimum_rate};
}

text::TokenizerConfig tokenizer_config(const TrainConfig& config) {
  text::TokenizerConfig t;
  t.kind = text::tokenizer_kind(config.text.tokenizer);
  t.vocabulary = config.text.vocabulary;
  t.most_by_text = preset_named(config.model.preset).vocabulary;
  t.joint = config.text.joint;
  t.normalization = config.text.normalization;
  t.seed = static_cast<uint64_t>(config.train.seed);
  return t;
}

std::string resolve_config(TrainConfig& c, int64_t pairs) {
  std::string said;
  if (c.model.preset == "auto") {
    c.model.preset = pairs < 200'000 ? "tiny" : pairs < 1'000'000 ? "small" : "base";
    said = fmt::format("preset {}: {} sentence pairs", c.model.preset, pairs);
  }
  const Preset& p = preset_named(c.model.preset);
  const auto fill = [](auto& value, auto otherwise) {
    if (value <= 0) value = otherwise;
  };
  fill(c.model.encoder_layers, p.layers), fill(c.model.decoder_layers, p.layers);
  fill(c.model.d_model, p.d_model), fill(c.model.d_ff, p.d_ff), fill(c.model.heads, p.heads);
  if (c.model.norm_place.empty()) c.model.norm_place = "post";
  if (c.model.activation.empty()) c.model.activation = "relu";
  if (c.model.positions.empty()) c.model.positions = "sinusoidal";
  if (c.model.dropout < 0) c.model.dropout = p.dropout;
  if (c.model.attention_dropout < 0) c.model.attention_dropout = 0;
  if (c.model.activation_dropout < 0) c.model.activation_dropout = 0;
  fill(c.train.batch_tokens, p.batch_tokens);
  fill(c.train.learning_rate, p.learning_rate);
  if (c.train.warmup == 0) c.train.warmup = p.warmup;
  if (c.train.max_steps == 0 && c.train.max_epochs == 0 && c.train.max_minutes == 0) {
    c.train.max_epochs = 100;
    if (c.valid.patience == 0) c.valid.patience = 10;
  }
  if (c.train.precision == "auto") {
    c.train.precision = kernels::has_native_bf16() && c.model.d_model >= 256 ? "bf16" : "f32";
    said += fmt::format("{}precision {}: this CPU {}", said.empty() ? "" : "; ", c.train.precision,
                        kernels::has_native_bf16() ? "multiplies bf16 natively" : "has no bf16 products");
  }
  if (c.train.average_last > 0) c.save.keep = std::max(c.save.keep, c.train.average_last);
  return said;
}

}  // namespace heed::train
