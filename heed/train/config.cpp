#include "heed/train/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "heed/base/error.h"
#include "heed/kernels/gemm.h"
#include "heed/train/bleu_tokenizer.h"

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

// A million pairs of sentences cost about 10^16 operations an epoch with base, 75 hours of one core: with fewer than eight
// it is small that ends within days.
const char* auto_preset(int64_t pairs, int64_t cores) {
  if (pairs < 200'000) return "tiny";
  return pairs < 1'000'000 || cores < 8 ? "small" : "base";
}

// Every sentence is seen a hundred times where there are 30,000; fewer want more rounds, more want fewer.
int64_t epochs_worth(int64_t pairs) { return std::clamp<int64_t>(3'000'000 / std::max<int64_t>(1, pairs), 20, 1000); }

constexpr int64_t kNarrowestBf16 = 256;

kernels::Activation activation_named(const std::string& name) {
  if (name == "gelu") return kernels::Activation::kGelu;
  return name == "silu" ? kernels::Activation::kSilu : kernels::Activation::kRelu;
}

// --- The fields, a table of the config each ---

std::vector<ConfigField> data_fields(TrainConfig::Data& d) {
  return {
      {"data.src", &d.src, "source sentences, one a line; .gz too; several files"},
      {"data.tgt", &d.tgt, "their translations, as many lines"},
      {"data.tsv", &d.tsv, "instead of the two: source<TAB>target"},
      {"data.valid_src", &d.valid_src, "source sentences to validate with"},
      {"data.valid_tgt", &d.valid_tgt, "their translations"},
      {"data.valid_tsv", &d.valid_tsv, "instead of the two"},
      {"data.bad_lines", &d.bad_lines, "empty, over-long or not UTF-8: skip or refuse", {"skip", "refuse"}},
      {"data.max_length", &d.max_length, "tokens of a sentence; longer pairs count as bad lines", {}, 2, 65536},
  };
}

std::vector<ConfigField> text_fields(TrainConfig::Text& t) {
  return {
      {"text.tokenizer", &t.tokenizer, "bpe, unigram, word, char or byte", text::tokenizer_kind_names()},
      {"text.vocabulary", &t.vocabulary, "pieces of the vocabulary; 0: as many as the text is worth", {}, 0, 1 << 24},
      {"text.joint", &t.joint, "one vocabulary for both languages"},
      {"text.normalization",
       &t.normalization,
       "of the text, by SentencePiece's name",
       {"identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"}},
  };
}

std::vector<ConfigField> model_fields(TrainConfig::Model& m) {
  return {
      {"model.preset", &m.preset, "auto, tiny, small or base", kTranslatorPresets},
      {"model.encoder_layers", &m.encoder_layers, "0: the preset's", {}, 0, 1000},
      {"model.decoder_layers", &m.decoder_layers, "0: the preset's", {}, 0, 1000},
      {"model.d_model", &m.d_model, "features of a token; 0: the preset's", {}, 0, 1 << 20},
      {"model.d_ff", &m.d_ff, "inner features of the feed-forward; 0: the preset's", {}, 0, 1 << 22},
      {"model.heads", &m.heads, "of every attention; 0: the preset's", {}, 0, 1 << 14},
      {"model.norm_place", &m.norm_place, "post (the paper) or pre", {"", "post", "pre"}},
      {"model.activation", &m.activation, "relu, gelu or silu", {"", "relu", "gelu", "silu"}},
      {"model.positions",
       &m.positions,
       "sinusoidal, learned, rotary, alibi, t5 or none",
       {"", "sinusoidal", "learned", "rotary", "alibi", "t5", "none"}},
      {"model.dropout", &m.dropout, "on residuals and embeddings; -1: the preset's", {}, -1, 0.999},
      {"model.attention_dropout", &m.attention_dropout, "on attention weights; -1: the preset's", {}, -1, 0.999},
      {"model.activation_dropout", &m.activation_dropout, "inside the feed-forward; -1: the preset's", {}, -1, 0.999},
      {"model.share_embeddings", &m.share_embeddings, "source and target share theirs (needs joint)"},
  };
}

std::vector<ConfigField> train_fields(TrainConfig::Run& t) {
  return {
      {"train.max_steps", &t.max_steps, "stop after so many; 0: no limit of steps"},
      {"train.max_epochs", &t.max_epochs, "rounds over the data; 0: no limit; without any of the three: by the data"},
      {"train.max_minutes", &t.max_minutes, "of training, all resumes together; 0: no limit of time", {}, 0, 1e7},
      {"train.batch_tokens", &t.batch_tokens, "of a step's batch at most, the larger side", {}, 0, 1 << 24},
      {"train.accumulate", &t.accumulate, "batches that make a step", {}, 1, 4096},
      {"train.optimizer", &t.optimizer, "adam, adamw or sgd", {"adam", "adamw", "sgd"}},
      {"train.beta1", &t.beta1, "of Adam; the momentum of SGD", {}, 0, 0.99999},
      {"train.beta2", &t.beta2, "of Adam", {}, 0, 0.9999999},
      {"train.eps", &t.eps, "of Adam", {}, 1e-30, 1},
      {"train.weight_decay", &t.weight_decay, "of AdamW and SGD", {}, 0, 10},
      {"train.clip", &t.clip, "gradients to this norm; 0: not", {}, 0, 1e9},
      {"train.smoothing", &t.smoothing, "of the labels", {}, 0, 0.999},
      {"train.schedule", &t.schedule, "of the learning rate", schedule_kinds()},
      {"train.learning_rate", &t.learning_rate, "when the warm-up ends; 0: the preset's", {}, 0, 1000},
      {"train.minimum_rate", &t.minimum_rate, "where the schedule ends", {}, 0, 1000},
      {"train.warmup", &t.warmup, "steps; 0: none; -1: the preset's", {}, -1},
      {"train.precision", &t.precision, "of the products: f32, bf16 or auto", {"auto", "f32", "bf16"}},
      {"train.average_decay", &t.average_decay, "of a moving average of the weights; 0: none", {}, 0, 0.9999999},
      {"train.average_last",
       &t.average_last,
       "the model is the mean of the last so many checkpoints; 0: the best",
       {},
       0,
       1000},
      {"train.bad_loss", &t.bad_loss, "when a loss is no number: skip the step or stop", {"skip", "stop"}},
      {"train.seed", &t.seed, "of everything random"},
  };
}

std::vector<ConfigField> valid_fields(TrainConfig::Valid& v) {
  return {
      {"valid.every", &v.every, "steps; 0: once an epoch"},
      {"valid.metric", &v.metric, "that picks the best checkpoint", {"bleu", "chrf", "loss"}},
      {"valid.patience", &v.patience, "validations without a better one before it stops; 0: never", {}, 0, 1e6},
      {"valid.beam", &v.beam, "of its translations", {}, 1, 64},
      {"valid.samples", &v.samples, "translations shown each time", {}, 0, 100},
      {"valid.max_sentences", &v.max_sentences, "that are translated each time; 0: none, the loss alone"},
      {"valid.bleu_tokens", &v.bleu_tokens, "how BLEU splits words", bleu_tokens_names()},
      {"valid.lowercase", &v.lowercase, "BLEU and chrF without regard to case"},
  };
}

std::vector<ConfigField> save_fields(TrainConfig::Save& s) {
  return {
      {"save.out", &s.out, "MODEL, the directory to write"},
      {"save.save_every", &s.every, "steps between checkpoints; 0: with every validation"},
      {"save.keep", &s.keep, "checkpoints kept", {}, 1, 100000},
      {"save.tensorboard", &s.tensorboard, "also write TensorBoard event files"},
  };
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
  std::vector<ConfigField> all;
  for (const std::vector<ConfigField>& table : {data_fields(c.data), text_fields(c.text), model_fields(c.model),
                                                train_fields(c.train), valid_fields(c.valid), save_fields(c.save)}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
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

void check_resolved(const TrainConfig& config) {
  const TrainConfig::Run& t = config.train;
  model_config(config, 8, 8);
  check_optimizer(optimizer_config(config));
  if (needs_total_steps(schedule_kind(t.schedule)) && t.max_steps == 0)
    fail("[config] train.schedule '{}' ends at train.max_steps, which is 0: expected a number of steps", t.schedule);
  learning_rate(schedule_of(config), 1);
}

Machine this_machine() { return {std::max(1U, std::thread::hardware_concurrency()), kernels::has_native_bf16()}; }

std::string resolve_config(TrainConfig& c, int64_t pairs, const Machine& machine) {
  std::string said;
  if (c.model.preset == "auto") {
    c.model.preset = auto_preset(pairs, machine.cores);
    said = fmt::format("preset {}: {} sentence pairs, {} cores", c.model.preset, pairs, machine.cores);
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
  if (c.train.warmup < 0) c.train.warmup = p.warmup;
  if (c.train.max_steps == 0 && c.train.max_epochs == 0 && c.train.max_minutes == 0) {
    c.train.max_epochs = epochs_worth(pairs);
    if (c.valid.patience == 0) c.valid.patience = 10;
    said += fmt::format("{}at most {} epochs, or {} validations without a better one", said.empty() ? "" : "; ",
                        c.train.max_epochs, c.valid.patience);
  }
  if (c.train.precision == "auto") {
    const bool wide = c.model.d_model >= kNarrowestBf16;
    c.train.precision = machine.native_bf16 && wide ? "bf16" : "f32";
    said += fmt::format("{}precision {}: {}", said.empty() ? "" : "; ", c.train.precision,
                        !machine.native_bf16 ? "this CPU has no bf16 products"
                        : wide               ? "this CPU multiplies bf16 natively"
                                             : fmt::format("d_model is below {}", kNarrowestBf16));
  }
  if (c.train.average_last > 0) c.save.keep = std::max(c.save.keep, c.train.average_last);
  return said;
}

}  // namespace heed::train
