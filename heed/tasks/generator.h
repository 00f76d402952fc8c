// A language model from text to text: a model directory in use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/decode/generation.h"
#include "heed/decode/ordered_stream.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer.h"

namespace heed::tasks {

// The folder itself, or of an adapter that has no tokenizer that of its base.
std::string tokenizer_folder(const models::ModelFolder& folder);

struct Generator {
  models::Decoder model;
  std::shared_ptr<const text::Tokenizer> tokenizer;

  static Generator open(const models::ModelFolder& folder, const models::LoadOptions& options = {.as_stored = true});
};
// A language model that someone else holds; without a tokenizer it knows ids alone.
struct GeneratorView {
  const models::Decoder& model;
  const text::Tokenizer* tokenizer = nullptr;
  GeneratorView(const models::Decoder& m, const text::Tokenizer* t) : model(m), tokenizer(t) {}
  GeneratorView(const Generator& g)  // NOLINT(google-explicit-constructor)
      : model(g.model), tokenizer(g.tokenizer.get()) {}

  // What the model reads of a text: behind the token that the tokenizer puts before one.
  std::vector<int32_t> encode(std::string_view text, bool with_start = true) const;
  // Tokens of a text that stand for what the tokenizer does not know.
  int64_t unknown(std::string_view text) const;
};

struct GenerateConfig {
  decode::GenerationSettings settings = {};
  std::vector<std::string> stops = {};  // the text ends before one of them
  std::vector<int32_t> ends = {};       // ids that end it, beside the model's own
  int64_t samples = 1;                  // of each prompt
  decode::StreamLimits stream = {.batch_tokens = 16384, .window = 256};
  decode::GenerationLimits limits = {};

  void check() const;
  // A prompt that fills the context is kept too, for those that start like it; 0 rows stay none.
  decode::GenerationLimits limits_for(const models::ModelConfig& model) const;
};

// Text, or ids as they are. An empty one starts with the model's own start.
struct Prompt {
  std::string text;
  std::vector<int32_t> ids = {};
  bool by_ids = false;
  bool as_it_is = false;  // the text has its own start: no token is put before it
};

struct GeneratedText {
  std::string text;  // the new text alone: what a stop string begins is no part of it
  decode::GeneratedIds written;
  double first_seconds = 0, seconds = 0;  // until the first token, and in all, from when the prompt was given
};
struct Generated {
  int64_t number = 0;  // of the prompt, from 0
  int64_t prompt_tokens = 0;
  std::vector<GeneratedText> texts;  // its samples, or of a search the best
};

// New text of one sample as it comes, whole characters. Of a search there is none before its end.
using OnText = std::function<void(int64_t number, int64_t sample, std::string_view text)>;

// What the model reads of a prompt; an error where it does not fit into its context and nothing is to be forgotten.
std::vector<int32_t> prompt_ids(const GeneratorView& generator, const GenerateConfig& config, const Prompt& prompt,
                                int64_t number = 0);

// next(prompt, wait) and give as in decode/ordered_stream.h: answers come in order while the rest is read. A prompt that
// is refused ends it, once those before it are answered.
void generate_text(const GeneratorView& generator, const GenerateConfig& config,
                   const std::function<decode::Input(Prompt&, bool wait)>& next,
                   const std::function<void(Generated)>& give, const OnText& on_text = {});
// All at once, in order.
std::vector<Generated> generate_all(const GeneratorView& generator, const GenerateConfig& config,
                                    const std::vector<Prompt>& prompts, const OnText& on_text = {});

}  // namespace heed::tasks
