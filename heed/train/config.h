// Everything about a training run, as plain numbers and names. One list of fields (config_fields) serves the config file,
// the flags, `--set` and the copy that lies in the finished model. The task decides which fields there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "heed/models/config.h"
#include "heed/models/lora_config.h"
#include "heed/text/train_tokenizer_lm.h"
#include "heed/train/optimizer.h"
#include "heed/train/schedule.h"

namespace heed::train {

// As it stands here it is a translator's; default_config() has those of the other tasks.
struct TrainConfig {
  std::string task = "translate";
  struct Data {
    std::vector<std::string> src, tgt, tsv, valid_src, valid_tgt, valid_tsv;
    std::string bad_lines = "skip";
    int64_t max_length = 256;  // tokens of a side
    // Of a language model.
    std::vector<std::string> text, valid_text, chat, valid_chat;  // conversations instead of text
    std::string documents = "file", valid_split = "end";
    double valid_share = 0.1;  // of the text, where no files are named to validate with
    std::optional<bool> pack;  // documents share blocks; nothing: all but conversations do
    bool across = true;        // and see each other there
    // Of a model of images.
    std::vector<std::string> images, labels, valid_images, valid_labels, classes;
    int64_t size = 0, levels = 16;
    bool by_class = true;
  } data;
  struct Text {
    std::string tokenizer = "bpe", normalization = "identity";
    int64_t vocabulary = 0;
    bool joint = true;
    int64_t variants = 1;  // how often a sentence is cut into pieces, anew each time
    double split_dropout = 0.1;
  } text;
  // 0, "", -1 and nothing stand for what the preset says; a resolved config has none of them.
  struct Model {
    std::string preset = "auto";
    int64_t encoder_layers = 0, decoder_layers = 0, d_model = 0, d_ff = 0, heads = 0;
    std::string norm_place, activation, positions;
    double dropout = -1, attention_dropout = -1, activation_dropout = -1;
    bool share_embeddings = true;
    // Of a language model.
    std::string arch = "gpt2", norm;
    std::string from;  // a model directory to go on from, which has a shape of its own
    int64_t layers = 0, kv_heads = 0, context = 0;
    std::optional<bool> bias, tie;
    // An adapter beside the weights of `from`, which stay as they are; -1: all weights are trained.
    int64_t lora = -1;
    double lora_alpha = 0, lora_dropout = 0;
    std::vector<std::string> lora_modules;
    bool lora_merge = false;
    bool adapts() const { return lora >= 0; }
  } model;
  struct Run {
    int64_t max_steps = 0, max_epochs = 0;  // 0: no limit; all three 0: what the preset says
    double max_minutes = 0;
    int64_t batch_tokens = 0, accumulate = 1;
    std::string optimizer = "adam";
    double beta1 = 0.9, beta2 = 0.98, eps = 1e-9, clip = 1;
    double weight_decay = -1;  // -1: what is usual for the optimizer
    double smoothing = 0.1;
    double agreement = 0;  // R-Drop: each sentence is read twice, and pays for how far the two dropouts are apart
    std::string schedule = "sqrt";
    double learning_rate = 0, minimum_rate = 0;
    int64_t warmup = -1;
    std::string precision = "auto";
    std::string activation_checkpointing = "auto";
    double average_decay = 0;       // of a moving average of the weights; 0: none
    int64_t average_last = 0;       // the finished model is the mean of so many checkpoints; 0: the best one
    std::string bad_loss = "skip";  // a loss that is no number: skip the step, or stop
    int64_t seed = 1;
  } train;
  struct Valid {
    int64_t every = 0;            // steps; 0: once an epoch, of large data every 5000 steps too
    std::string metric = "bleu";  // picks the best checkpoint: bleu, chrf or loss
    int64_t patience = 0;         // validations without a better one before it stops; 0: never
    int64_t beam = 1, samples = 3, max_sentences = 2000;
    std::string bleu_tokens = "13a";  // how BLEU splits words
    bool lowercase = false;
    int64_t max_tokens = 1'000'000;  // of a language model's text that are measured each time; 0: all
    int64_t max_images = 1000;       // of a model of images; 0: all
  } valid;
  struct Save {
    std::string out;
    int64_t every = 0, keep = 2;  // steps; 0: with every validation, and 1000 steps after the last one
    bool tensorboard = false;
  } save;
};

const std::vector<std::string>& task_names();
TrainConfig default_config(const std::string& task);

struct ConfigField {
  const char* key;  // "train.max_steps"; as a flag --max-steps; of valid.beam --valid-beam
  std::variant<int64_t*, double*, bool*, std::string*, std::vector<std::string>*, std::optional<bool>*> value;
  const char* help;
  std::vector<std::string> choices = {};  // of a name; empty: anything
  double least = 0, most = 9e15;          // of a number

  std::string flag() const;
};
// For people: "4096", "bleu", "[a.txt, b.txt]".
std::string value_text(const ConfigField& field);
// Those of its task.
std::vector<ConfigField> config_fields(TrainConfig& config);
// The other tasks that have such a key, for messages: "translate"; "" where none has.
std::string tasks_with(const std::string& key);

// TOML. Unknown keys come with the nearest known one, wrong types with line and column. A text that names another task
// than the config has starts from the defaults of that one.
void read_config_text(TrainConfig& config, const std::string& toml, const std::string& label);
void read_config_file(TrainConfig& config, const std::string& path);
// "train.max_steps=100", or the last part of a key alone.
void set_config(TrainConfig& config, const std::string& assignment);
// A value as people type it; `where` starts the message of an error.
void set_field(const ConfigField& field, const std::string& value, const std::string& where);
// Values in range, names known, files named; the message names the key.
void check_config(TrainConfig& config);
// The whole config as TOML.
std::string config_text(const TrainConfig& config);

// The parts as the floors below want them. A language model has no source.
models::ModelConfig model_config(const TrainConfig& config, int64_t source_vocabulary, int64_t vocabulary);
OptimizerConfig optimizer_config(const TrainConfig& config);
Schedule schedule_of(const TrainConfig& config);
models::LoraConfig lora_config(const TrainConfig& config);               // of a language model that adapts another
text::TokenizerConfig tokenizer_config(const TrainConfig& config);       // of a translator
text::LmTokenizerConfig lm_tokenizer_config(const TrainConfig& config);  // of a language model

// There is data to validate with: files that are named, or a share of those to train with.
bool validates(const TrainConfig& config);
// Fills what was left to the preset, and "auto" by the data and the machine (not by --threads: those change no result);
// says what it chose and why.
struct Machine {
  int64_t cores = 1;
  bool native_bf16 = false;
};
Machine this_machine();
// `amount` of data: pairs of sentences, bytes of text, or pixels.
std::string resolve_config(TrainConfig& config, int64_t amount, const Machine& machine = this_machine());
// Shapes, optimizer and schedule of a resolved config fit together: what a run would find only once it trains.
void check_resolved(const TrainConfig& config);

}  // namespace heed::train
