// The config of a language model: its fields, its presets, its model.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "heed/base/error.h"
#include "heed/models/directory.h"
#include "heed/models/lora.h"
#include "heed/train/task_config.h"

namespace heed::train {
namespace {

const std::vector<std::string> kPresetNames = {"auto", "tiny", "small", "base"};

// What a preset fills in where the config is silent.
struct Preset {
  const char* name;
  int64_t layers, d_model, heads, context;
  double dropout;
  int64_t batch_tokens;
  double learning_rate;
  int64_t warmup, steps, vocabulary;
};
constexpr Preset kPresets[] = {
    {"tiny", 4, 128, 4, 128, 0, 4096, 2e-3, 100, 5000, 4000},
    {"small", 6, 384, 6, 256, 0.2, 8192, 1e-3, 200, 10000, 16000},
    {"base", 12, 768, 12, 1024, 0.1, 32768, 6e-4, 700, 100000, 32000},
};

const Preset& preset_named(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name == p.name) return p;
  }
  fail("[config] model.preset is '{}': expected {}", name, fmt::join(kPresetNames, ", "));
}

// The steps of tiny are minutes of two cores, those of small hours, those of base days of sixteen.
const char* auto_preset(int64_t bytes, int64_t cores) {
  constexpr int64_t kKilo = 1000, kMega = 1'000'000;
  if (bytes < 500 * kKilo || (bytes < 20 * kMega && cores < 8)) return "tiny";
  return bytes < 500 * kMega || cores < 16 ? "small" : "base";
}

std::string size_text(int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.0f} KB", static_cast<double>(bytes) * 1e-3)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
}

TrainConfig defaults() {
  TrainConfig c;
  c.task = "lm";
  c.train.optimizer = "adamw", c.train.beta2 = 0.99, c.train.eps = 1e-8;
  c.train.smoothing = 0;
  c.train.schedule = "";
  c.valid.metric = "loss", c.valid.samples = 1;
  return c;
}

// --- The fields, a table of the config each ---

std::vector<ConfigField> data_fields(TrainConfig::Data& d) {
  return {
      {"data.text", &d.text, "files or folders of text; .gz too"},
      {"data.valid_text", &d.valid_text, "text to validate with"},
      {"data.chat", &d.chat, "instead of text: conversations, a line of JSON each; the loss is of the answers alone"},
      {"data.valid_chat", &d.valid_chat, "conversations to validate with"},
      {"data.valid_share", &d.valid_share, "of the text, where none is named to validate with; 0: none", {}, 0, 0.9},
      {"data.valid_split",
       &d.valid_split,
       "which share of the text: its end, or documents drawn at random",
       {"end", "random"}},
      {"data.documents",
       &d.documents,
       "what is one document: a file, a line, or a paragraph (blank lines between them)",
       {"file", "line", "paragraph"}},
      {"data.pack", &d.pack,
       "documents one after the other, cut in blocks, or each by itself; true but for conversations"},
      {"data.across", &d.across, "in a block, later documents see earlier ones"},
      {"data.bad_lines",
       &d.bad_lines,
       "documents that are not UTF-8, conversations that are none: skip or refuse",
       {"skip", "refuse"}},
  };
}

std::vector<ConfigField> text_fields(TrainConfig::Text& t) {
  return {
      {"text.tokenizer", &t.tokenizer, "bpe (GPT-2's, of bytes), sentencepiece (LLaMA's), unigram, char or byte",
       text::lm_tokenizer_kind_names()},
      {"text.vocabulary", &t.vocabulary, "pieces of the vocabulary; 0: as many as the text is worth", {}, 0, 1 << 24},
      {"text.normalization", &t.normalization, "of the text, by SentencePiece's name", text::normalization_names()},
  };
}

std::vector<ConfigField> model_fields(TrainConfig::Model& m) {
  return {
      {"model.preset", &m.preset, "auto, tiny, small or base", kPresetNames},
      {"model.from", &m.from, "MODEL to go on from: its shape, weights and tokenizer"},
      {"model.arch", &m.arch, "gpt2 or llama: what is not said is as there", {"gpt2", "llama"}},
      {"model.layers", &m.layers, "0: the preset's", {}, 0, 1000},
      {"model.d_model", &m.d_model, "features of a token; 0: the preset's", {}, 0, 1 << 20},
      {"model.d_ff", &m.d_ff, "inner features of the feed-forward; 0: by d_model", {}, 0, 1 << 22},
      {"model.heads", &m.heads, "of every attention; 0: the preset's", {}, 0, 1 << 14},
      {"model.kv_heads", &m.kv_heads, "of keys and values; 0: as many as heads", {}, 0, 1 << 14},
      {"model.context",
       &m.context,
       "tokens that are seen at once, the length of a block; 0: the preset's",
       {},
       0,
       1 << 20},
      {"model.positions",
       &m.positions,
       "learned (gpt2), rotary (llama), sinusoidal, alibi, t5 or none",
       {"", "learned", "rotary", "sinusoidal", "alibi", "t5", "none"}},
      {"model.norm", &m.norm, "layer (gpt2) or rms (llama)", {"", "layer", "rms"}},
      {"model.norm_place", &m.norm_place, "pre or post", {"", "pre", "post"}},
      {"model.activation",
       &m.activation,
       "gelu_tanh (gpt2), swiglu (llama), gelu, geglu, relu or silu",
       {"", "gelu_tanh", "swiglu", "gelu", "geglu", "relu", "silu"}},
      {"model.bias", &m.bias, "of products and norms; gpt2 has them, llama has none"},
      {"model.tie", &m.tie, "the output shares the embedding; as in gpt2, not in llama"},
      {"model.dropout", &m.dropout, "on residuals and embeddings; -1: the preset's", {}, -1, 0.999},
      {"model.attention_dropout", &m.attention_dropout, "on attention weights; -1: as model.dropout", {}, -1, 0.999},
      {"model.activation_dropout", &m.activation_dropout, "inside the feed-forward; -1: 0", {}, -1, 0.999},
  };
}

std::vector<ConfigField> lora_fields(TrainConfig::Model& m) {
  return {
      {"model.lora",
       &m.lora,
       "rank of an adapter beside the weights of model.from, which stay as they are; -1: all weights are trained",
       {},
       -1,
       models::kMostLoraRank},
      {"model.lora_alpha", &m.lora_alpha, "the adapter counts alpha / rank; 0: twice the rank", {}, 0, 1e6},
      {"model.lora_dropout", &m.lora_dropout, "on what the adapter reads", {}, 0, 0.999},
      {"model.lora_modules", &m.lora_modules,
       "linear maps by their published names (q_proj, v_proj; c_attn), or all; those of queries and values without it"},
      {"model.lora_merge", &m.lora_merge, "MODEL is a whole model; false: PEFT's files of an adapter"},
  };
}

std::vector<ConfigField> fields(TrainConfig& c) {
  std::vector<ConfigField> all;
  for (const auto& table : {data_fields(c.data), text_fields(c.text), model_fields(c.model), lora_fields(c.model)})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

std::vector<ConfigField> valid_fields(TrainConfig& c) {
  TrainConfig::Valid& v = c.valid;
  return {
      {"valid.every", &v.every, "steps; 0: twenty times in the run"},
      {"valid.patience", &v.patience, "validations without a better one before it stops; 0: never", {}, 0, 1e6},
      {"valid.samples", &v.samples, "texts shown each time", {}, 0, 100},
      {"valid.max_tokens", &v.max_tokens, "that are measured each time; 0: all"},
  };
}

void check_data(const TrainConfig::Data& d) {
  if (d.text.empty() && d.chat.empty()) {
    fail("[config] no text to train with: expected data.text (--text F...) or data.chat (--chat F...)");
  }
  if (!d.text.empty() && !d.chat.empty()) fail("[config] both data.text and data.chat: expected one of them");
  if (!d.chat.empty() && !d.valid_text.empty())
    fail("[config] data.valid_text with data.chat: expected data.valid_chat");
  if (d.chat.empty() && !d.valid_chat.empty()) fail("[config] data.valid_chat without data.chat: expected both");
  if (!d.chat.empty() && d.documents != TrainConfig{}.data.documents)
    fail("[config] data.documents is '{}': with data.chat a line is a conversation", d.documents);
}

void check_lora(const TrainConfig::Model& m) {
  const std::pair<const char*, bool> own[] = {{"model.lora_alpha", m.lora_alpha != 0},
                                              {"model.lora_dropout", m.lora_dropout != 0},
                                              {"model.lora_modules", !m.lora_modules.empty()},
                                              {"model.lora_merge", m.lora_merge}};
  for (const auto& [key, said] : own) {
    if (said && !m.adapts()) fail("[config] {} is said without model.lora: expected a rank (--lora 8)", key);
  }
  if (m.lora == 0) fail("[config] model.lora is 0: expected a rank of 1 or more, or -1 to train all weights");
  if (m.adapts() && m.from.empty())
    fail("[config] model.lora is {} without model.from: expected a model to adapt (--from MODEL)", m.lora);
}

void check(const TrainConfig& config) {
  check_data(config.data);
  const TrainConfig::Text& t = config.text;
  if (t.normalization != "identity" && t.tokenizer != "sentencepiece" && t.tokenizer != "unigram") {
    fail("[config] text.normalization is '{}': the {} tokenizer takes text as it is, expected identity",
         t.normalization, t.tokenizer);
  }
  const TrainConfig::Model& m = config.model;
  check_lora(m);
  const TrainConfig unsaid = defaults();
  check_from(config, {{"model.positions", !m.positions.empty()},
                      {"model.norm", !m.norm.empty()},
                      {"model.norm_place", !m.norm_place.empty()},
                      {"model.activation", !m.activation.empty()},
                      {"model.bias", m.bias.has_value()},
                      {"model.tie", m.tie.has_value()},
                      {"model.arch", m.arch != unsaid.model.arch},
                      {"text.tokenizer", t.tokenizer != unsaid.text.tokenizer},
                      {"text.vocabulary", t.vocabulary != 0}});
}

// --- What is left to the preset and the architecture ---

// A model that there is has its shape; the config may say the same.
void take_shape(TrainConfig::Model& m) {
  const models::ModelConfig c = models::read_config(m.from);
  if (c.family != models::Family::kDecoder)
    fail_file("[config] '{}' of model.from is a translator, expected a language model", m.from);
  const nn::StackConfig& s = c.decoder;
  take_sizes(m.from, {{"layers", &m.layers, s.layers},
                      {"d_model", &m.d_model, s.d_model},
                      {"d_ff", &m.d_ff, s.d_ff},
                      {"heads", &m.heads, s.heads},
                      {"kv_heads", &m.kv_heads, s.key_heads()}});
  constexpr int64_t kContext = 512;
  fill(m.context, std::min(s.positions.max_length, kContext));
  if (s.positions.kind == nn::PositionKind::kLearned && m.context > s.positions.max_length) {
    fail("[config] model.context is {}, and '{}' of model.from has positions for {}", m.context, m.from,
         s.positions.max_length);
  }
  for (double* rate : {&m.dropout, &m.attention_dropout, &m.activation_dropout}) *rate = std::max(*rate, 0.0);
}

// "a,b" is two names.
std::vector<std::string> split_names(const std::vector<std::string>& typed) {
  std::vector<std::string> names;
  for (const std::string& list : typed) {
    std::istringstream parts(list);
    for (std::string name; std::getline(parts, name, ',');) {
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

void resolve_lora(TrainConfig::Model& m) {
  if (models::is_adapter(m.from))
    fail("[config] '{}' of model.from is an adapter: expected the model that it belongs to", m.from);
  if (m.lora > m.d_model)
    fail("[config] model.lora is {}: expected a rank of 1 to {}, the features of '{}'", m.lora, m.d_model, m.from);
  fill(m.lora_alpha, 2.0 * static_cast<double>(m.lora));
  const models::Decoder shape(models::read_config(m.from), std::nullopt);
  const int64_t length = shape.config.decoder.positions.max_length;
  if (m.context > length && !m.lora_merge) {
    fail("[config] model.context is {}, and an adapter has that of '{}': expected {} at most, or model.lora_merge",
         m.context, m.from, length);
  }
  m.lora_modules = models::lora_modules(split_names(m.lora_modules), shape);
}

void resolve_model(TrainConfig::Model& m, const Preset& p) {
  if (!m.from.empty()) take_shape(m);
  if (m.adapts()) resolve_lora(m);
  if (!m.from.empty()) return;
  const bool llama = m.arch == "llama";
  fill(m.layers, p.layers), fill(m.d_model, p.d_model), fill(m.heads, p.heads), fill(m.context, p.context);
  fill(m.kv_heads, m.heads);
  fill(m.positions, llama ? "rotary" : "learned");
  fill(m.norm, llama ? "rms" : "layer"), fill(m.norm_place, "pre");
  fill(m.activation, llama ? "swiglu" : "gelu_tanh");
  if (!m.bias) m.bias = !llama;
  if (!m.tie) m.tie = !llama;
  // Three matrices instead of two: two thirds as wide, as LLaMA has it.
  const int64_t gated = (8 * m.d_model / 3 + 31) / 32 * 32;
  fill(m.d_ff, m.activation.ends_with("glu") ? gated : 4 * m.d_model);
  if (m.dropout < 0) m.dropout = p.dropout;
  if (m.attention_dropout < 0) m.attention_dropout = m.dropout;
  if (m.activation_dropout < 0) m.activation_dropout = 0;
}

std::string resolve(TrainConfig& c, int64_t bytes, const Machine& machine) {
  std::string said;
  if (c.model.preset == "auto") {
    c.model.preset = auto_preset(bytes, machine.cores);
    said = fmt::format("{}preset {}: {} of text, {} cores", c.model.from.empty() ? "" : "batches and steps of ",
                       c.model.preset, size_text(bytes), machine.cores);
  }
  const Preset& p = preset_named(c.model.preset);
  resolve_model(c.model, p);
  // A batch is ragged: conversations that stay whole and see nothing of each other cost nothing.
  if (!c.data.pack) c.data.pack = c.data.chat.empty();
  fill(c.train.batch_tokens, p.batch_tokens);
  fill_weight_decay(c.train, 0.1);
  // What was learned once should not be shaken off; what an adapter learns is new.
  const bool fresh = c.model.from.empty() || c.model.adapts();
  if (c.train.schedule != "paper") fill(c.train.learning_rate, fresh ? p.learning_rate : 0.1 * p.learning_rate);
  if (c.train.max_steps == 0 && c.train.max_epochs == 0 && c.train.max_minutes == 0) {
    c.train.max_steps = p.steps;
    said += fmt::format("{}at most {} steps{}", said.empty() ? "" : "; ", c.train.max_steps, usual_patience(c));
  }
  // A cosine ends with the last step: it takes a number of them.
  fill(c.train.schedule, c.train.max_steps > 0 ? "cosine" : "sqrt");
  if (c.train.warmup < 0) {
    c.train.warmup = c.train.max_steps > 0 ? std::min(p.warmup, c.train.max_steps / 10) : p.warmup;
  }
  constexpr int64_t kValidations = 20, kMostBetween = 1000;
  fill(c.valid.every, c.train.max_steps > 0 ? std::clamp<int64_t>(c.train.max_steps / kValidations, 1, kMostBetween)
                                            : kMostBetween / 4);
  return said;
}

kernels::Activation activation_named(const std::string& name) {
  if (name == "relu") return kernels::Activation::kRelu;
  if (name == "silu" || name == "swiglu") return kernels::Activation::kSilu;
  return name == "gelu_tanh" ? kernels::Activation::kGeluTanh : kernels::Activation::kGelu;
}

nn::DropoutConfig dropout(const TrainConfig::Model& m) {
  const auto residual = static_cast<float>(m.dropout);
  return {residual, static_cast<float>(m.attention_dropout), static_cast<float>(m.activation_dropout), residual};
}

models::ModelConfig model(const TrainConfig& config, int64_t /*source_vocabulary*/, int64_t vocabulary) {
  const TrainConfig::Model& m = config.model;
  models::ModelConfig c;
  nn::StackConfig& s = c.decoder;
  if (!m.from.empty()) {
    c = models::read_config(m.from);
    s.dropout = dropout(m);
    // Positions without a table go as far as they are trained.
    s.positions.max_length = std::max(s.positions.max_length, m.context);
    return c;
  }
  c.family = models::Family::kDecoder;
  s.layers = m.layers, s.d_model = m.d_model, s.d_ff = m.d_ff, s.heads = m.heads, s.kv_heads = m.kv_heads;
  s.norm = m.norm == "rms" ? nn::NormKind::kRms : nn::NormKind::kLayer;
  s.norm_place = m.norm_place == "post" ? nn::NormPlace::kPost : nn::NormPlace::kPre;
  s.final_norm = s.norm_place == nn::NormPlace::kPre;
  s.activation = activation_named(m.activation);
  s.gated = m.activation.ends_with("glu");
  s.bias = s.norm_bias = *m.bias;
  s.init_deviation = 0.02f;
  s.positions.kind = nn::position_kind(m.positions);
  s.positions.max_length = m.context;
  s.dropout = dropout(m);
  c.vocabulary = vocabulary;
  c.tie_embeddings = *m.tie;
  c.scale_embedding = false;
  c.check();
  return c;
}

}  // namespace

models::LoraConfig lora_config(const TrainConfig& config) {
  const TrainConfig::Model& m = config.model;
  models::LoraConfig c;
  c.rank = m.lora, c.alpha = m.lora_alpha, c.dropout = m.lora_dropout, c.modules = m.lora_modules;
  c.base = std::filesystem::absolute(m.from).lexically_normal().string();
  return c;
}

text::LmTokenizerConfig lm_tokenizer_config(const TrainConfig& config) {
  text::LmTokenizerConfig t;
  t.kind = text::lm_tokenizer_kind(config.text.tokenizer);
  t.pieces.vocabulary = config.text.vocabulary;
  t.pieces.most_by_text = preset_named(config.model.preset).vocabulary;
  t.chat = !config.data.chat.empty();
  t.pieces.normalization = config.text.normalization;
  t.pieces.seed = static_cast<uint64_t>(config.train.seed);
  return t;
}

const TaskConfig& lm_task_config() {
  const auto validates = [](const TrainConfig::Data& d) {
    return !d.valid_text.empty() || !d.valid_chat.empty() || d.valid_share > 0;
  };
  static const TaskConfig task{"lm", defaults, fields, valid_fields, check, validates, resolve, model};
  return task;
}

}  // namespace heed::train
