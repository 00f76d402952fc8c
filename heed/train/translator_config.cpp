// The config of a translator: its fields, its presets, its model.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/models/directory.h"
#include "heed/train/bleu_tokenizer.h"
#include "heed/train/task_config.h"

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
      {"text.normalization", &t.normalization, "of the text, by SentencePiece's name", text::normalization_names()},
      {"text.variants",
       &t.variants,
       "times that a pair is stored, cut anew each time (BPE-dropout); 1: as it is",
       {},
       1,
       1000},
      {"text.split_dropout", &t.split_dropout, "merges passed over in those after the first", {}, 0, 0.9},
  };
}

std::vector<ConfigField> model_fields(TrainConfig::Model& m) {
  return {
      {"model.preset", &m.preset, "auto, tiny, small or base", kTranslatorPresets},
      {"model.from", &m.from, "MODEL to go on from: its shape, weights and tokenizers"},
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
      {"model.dropout",
       &m.dropout,
       "on residuals and embeddings; -1: the preset's, or that of model.from",
       {},
       -1,
       0.999},
      {"model.attention_dropout", &m.attention_dropout, "on attention weights; -1: the preset's", {}, -1, 0.999},
      {"model.activation_dropout", &m.activation_dropout, "inside the feed-forward; -1: the preset's", {}, -1, 0.999},
      {"model.share_embeddings", &m.share_embeddings, "source and target share theirs (needs joint)"},
  };
}

std::vector<ConfigField> fields(TrainConfig& c) {
  std::vector<ConfigField> all;
  for (const auto& table : {data_fields(c.data), text_fields(c.text), model_fields(c.model)})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

std::vector<ConfigField> valid_fields(TrainConfig& c) {
  TrainConfig::Valid& v = c.valid;
  return {
      {"valid.every", &v.every, "steps; 0: once an epoch, of 100 steps at least and 5000 at most"},
      {"valid.metric", &v.metric, "that picks the best checkpoint", {"bleu", "chrf", "loss"}},
      {"valid.patience",
       &v.patience,
       "validations without a better figure or loss before it stops; 0: never",
       {},
       0,
       1e6},
      {"valid.beam", &v.beam, "of its translations", {}, 1, 64},
      {"valid.samples", &v.samples, "translations shown each time", {}, 0, 100},
      {"valid.max_sentences", &v.max_sentences, "that are translated each time; 0: none, the loss alone"},
      {"valid.bleu_tokens", &v.bleu_tokens, "how BLEU splits words", bleu_tokens_names()},
      {"valid.lowercase", &v.lowercase, "BLEU and chrF without regard to case"},
  };
}

void check_text(const TrainConfig::Text& t) {
  if (t.variants > 1 && t.tokenizer != "bpe") {
    fail("[config] text.variants is {} with text.tokenizer = '{}': only bpe cuts a text in several ways", t.variants,
         t.tokenizer);
  }
  if (t.variants == 1 && t.split_dropout != TrainConfig::Text{}.split_dropout) {
    fail("[config] text.split_dropout is {} without text.variants, whose cuts it is about: expected 2 of them or more",
         t.split_dropout);
  }
  if (t.tokenizer != "byte") return;
  if (t.vocabulary != 0) {
    fail("[config] text.vocabulary is {} with text.tokenizer = 'byte': the bytes are the vocabulary, expected 0",
         t.vocabulary);
  }
  if (!t.joint) {
    fail(
        "[config] text.joint is false with text.tokenizer = 'byte': both languages have the same bytes, expected true "
        "(model.share_embeddings = false keeps their embeddings apart)");
  }
}

void check(const TrainConfig& config) {
  check_text(config.text);
  const TrainConfig::Data& d = config.data;
  if (d.src.empty() != d.tgt.empty()) {
    fail("[config] {} is there and {} is missing: sentences and their translations go together",
         d.src.empty() ? "data.tgt" : "data.src", d.src.empty() ? "data.src" : "data.tgt");
  }
  if (d.tsv.empty() && d.src.empty()) {
    fail("[config] no sentences to train with: expected data.src and data.tgt (--src F --tgt F), or data.tsv");
  }
  if (!d.tsv.empty() && (!d.src.empty() || !d.tgt.empty()))
    fail("[config] both data.tsv and data.src or data.tgt: expected one of them");
  if (d.valid_src.empty() != d.valid_tgt.empty())
    fail("[config] data.valid_src and data.valid_tgt go together: one is missing");
  const TrainConfig unsaid;
  const TrainConfig::Text& t = config.text;
  const TrainConfig::Model& m = config.model;
  check_from(config, {{"model.positions", !m.positions.empty()},
                      {"model.norm_place", !m.norm_place.empty()},
                      {"model.activation", !m.activation.empty()},
                      {"model.share_embeddings", m.share_embeddings != unsaid.model.share_embeddings},
                      {"text.tokenizer", t.tokenizer != unsaid.text.tokenizer},
                      {"text.vocabulary", t.vocabulary != unsaid.text.vocabulary},
                      {"text.joint", t.joint != unsaid.text.joint},
                      {"text.normalization", t.normalization != unsaid.text.normalization}});
}

void check_agreement(const TrainConfig& c) {
  if (c.train.agreement > 0 && c.model.dropout + c.model.attention_dropout + c.model.activation_dropout == 0) {
    fail("[config] train.agreement is {} without dropout: a sentence that is read twice would agree with itself",
         c.train.agreement);
  }
}

// A model that there is has its shape and its dropouts; the config may say the same shape.
void take_shape(TrainConfig::Model& m, int64_t max_length) {
  const models::ModelConfig c = models::read_config(m.from);
  if (c.family != models::Family::kEncoderDecoder)
    fail_file("[config] '{}' of model.from is no translator, expected one", m.from);
  const nn::StackConfig& s = c.decoder;
  take_sizes(m.from, {{"encoder_layers", &m.encoder_layers, c.encoder.layers},
                      {"decoder_layers", &m.decoder_layers, s.layers},
                      {"d_model", &m.d_model, s.d_model},
                      {"d_ff", &m.d_ff, s.d_ff},
                      {"heads", &m.heads, s.heads}});
  const int64_t positions = std::min(c.encoder.positions.max_length, s.positions.max_length);
  if (s.positions.kind == nn::PositionKind::kLearned && max_length > positions) {
    fail("[config] data.max_length is {}, and '{}' of model.from has positions for {}", max_length, m.from, positions);
  }
  const std::pair<double*, float> dropouts[] = {{&m.dropout, s.dropout.residual},
                                                {&m.attention_dropout, s.dropout.attention},
                                                {&m.activation_dropout, s.dropout.activation}};
  for (const auto& [said, has] : dropouts) {
    if (*said < 0) *said = std::round(double{has} * 1e6) / 1e6;  // as it was written, not as a float has it
  }
}

void resolve_model(TrainConfig::Model& m, const Preset& p, int64_t max_length) {
  if (!m.from.empty()) return take_shape(m, max_length);
  fill(m.encoder_layers, p.layers), fill(m.decoder_layers, p.layers);
  fill(m.d_model, p.d_model), fill(m.d_ff, p.d_ff), fill(m.heads, p.heads);
  fill(m.norm_place, "post"), fill(m.activation, "relu"), fill(m.positions, "sinusoidal");
  if (m.dropout < 0) m.dropout = p.dropout;
  if (m.attention_dropout < 0) m.attention_dropout = 0;
  if (m.activation_dropout < 0) m.activation_dropout = 0;
}

// The preset that is as wide, whatever its data: a rate suits a width.
double learning_rate_of(int64_t d_model) {
  const Preset* widest = &kPresets[0];
  for (const Preset& p : kPresets) {
    if (p.d_model <= d_model) widest = &p;
  }
  return widest->learning_rate;
}

// A short run spends most of its steps at rates that teach.
int64_t usual_warmup(int64_t of_preset, int64_t max_steps) {
  return max_steps > 0 ? std::min(of_preset, max_steps / 4) : of_preset;
}

std::string resolve(TrainConfig& c, int64_t pairs, const Machine& machine) {
  const bool fresh = c.model.from.empty();
  std::string said;
  if (c.model.preset == "auto") {
    c.model.preset = auto_preset(pairs, machine.cores);
    said = fmt::format("{}preset {}: {} sentence pairs, {} cores", fresh ? "" : "batches of ", c.model.preset, pairs,
                       machine.cores);
  }
  const Preset& p = preset_named(c.model.preset);
  resolve_model(c.model, p, c.data.max_length);
  check_agreement(c);
  fill(c.train.batch_tokens, p.batch_tokens);
  fill_weight_decay(c.train, 0.01);
  // What was learned once should not be shaken off: smaller steps, and a tenth of them.
  constexpr double kTuning = 0.1;
  const double rate = fresh ? p.learning_rate : kTuning * learning_rate_of(c.model.d_model);
  if (c.train.schedule != "paper") fill(c.train.learning_rate, rate);  // the paper's follows from d_model
  if (c.train.warmup < 0) c.train.warmup = usual_warmup(fresh ? p.warmup : p.warmup / 10, c.train.max_steps);
  if (c.train.max_steps == 0 && c.train.max_epochs == 0 && c.train.max_minutes == 0) {
    c.train.max_epochs = epochs_worth(pairs * c.text.variants);
    if (!fresh) c.train.max_epochs /= 10;
    said += fmt::format("{}at most {} epochs{}", said.empty() ? "" : "; ", c.train.max_epochs, usual_patience(c));
  }
  return said;
}

nn::DropoutConfig dropout(const TrainConfig::Model& m) {
  const auto residual = static_cast<float>(m.dropout);
  return {residual, static_cast<float>(m.attention_dropout), static_cast<float>(m.activation_dropout), residual};
}

// As it is in its folder, but for what the run says of dropout and lengths.
models::ModelConfig model_gone_on_from(const TrainConfig& config) {
  models::ModelConfig c = models::read_config(config.model.from);
  for (nn::StackConfig* s : {&c.encoder, &c.decoder}) {
    s->dropout = dropout(config.model);
    s->positions.max_length = std::max(s->positions.max_length, config.data.max_length);
  }
  c.trained_length = std::max(c.trained_length, config.data.max_length);
  return c;
}

models::ModelConfig model(const TrainConfig& config, int64_t source_vocabulary, int64_t target_vocabulary) {
  const TrainConfig::Model& m = config.model;
  if (!m.from.empty()) return model_gone_on_from(config);
  models::ModelConfig c;
  nn::StackConfig s;
  s.d_model = m.d_model, s.d_ff = m.d_ff, s.heads = m.heads;
  s.norm_place = m.norm_place == "pre" ? nn::NormPlace::kPre : nn::NormPlace::kPost;
  s.final_norm = s.norm_place == nn::NormPlace::kPre;
  s.activation = activation_named(m.activation);
  s.positions.kind = nn::position_kind(m.positions);
  // Sines go on behind what was trained; rows of a table that no sentence reached are noise.
  const int64_t longest = config.data.max_length;
  s.positions.max_length = m.positions == "learned" ? longest : std::max<int64_t>(512, 2 * longest);
  s.dropout = dropout(m);
  c.encoder = c.decoder = s;
  c.encoder.layers = m.encoder_layers;
  c.decoder.layers = m.decoder_layers;
  c.source_vocabulary = source_vocabulary;
  c.vocabulary = target_vocabulary;
  c.share_source = m.share_embeddings && config.text.joint;
  c.trained_length = longest;
  c.check();
  return c;
}

}  // namespace

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

const TaskConfig& translator_task_config() {
  const auto validates = [](const TrainConfig::Data& d) { return !d.valid_src.empty() || !d.valid_tsv.empty(); };
  static const TaskConfig task{
      "translate", [] { return TrainConfig{}; }, fields, valid_fields, check, validates, resolve, model};
  return task;
}

}  // namespace heed::train
