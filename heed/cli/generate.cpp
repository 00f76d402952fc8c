// heed generate: prompts in, the text that a language model goes on with out; a model of images draws (generate_images.cpp).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "heed/base/error.h"
#include "heed/cli/adapters.h"
#include "heed/cli/arguments.h"
#include "heed/cli/generate_images.h"
#include "heed/cli/text_lines.h"
#include "heed/tasks/chat.h"
#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string model, base, prompt, input, output, system;
  std::vector<std::string> ban, bias, stop;
  int64_t max_tokens = 128, top_k = 0, samples = 1, beam = 1, logprobs = 0, batch_tokens = 16384;
  double temperature = 0.8, top_p = 0.95, min_p = 0, repetition_penalty = 1, presence_penalty = 0,
         frequency_penalty = 0;
  bool has_prompt = false, interactive = false, chat = false, window = false, ids = false;
  bool one_by_one() const { return interactive || chat; }
};

// Flags that say nothing together.
void check_together(const CLI::App* app) {
  const auto has = [app](const char* flag) { return given(app, flag); };
  for (const char* flag : {"--prompt", "--input", "--output", "--samples", "--beam", "--logprobs", "--ids"}) {
    if (has(flag) && has("--interactive")) fail("[generate] {} with --interactive: expected one of them", flag);
  }
  for (const char* flag : {"--interactive", "--samples", "--beam", "--logprobs", "--ids"}) {
    if (has(flag) && has("--chat")) fail("[generate] {} with --chat: expected one of them", flag);
  }
  if (has("--system") && !has("--chat")) fail("[generate] --system without --chat: expected both");
  if (has("--prompt") && has("--input")) fail("[generate] both --prompt and --input: expected one of them");
  for (const char* flag : {"--temperature", "--top-k", "--top-p", "--min-p", "--samples"}) {
    if (has(flag) && has("--beam")) fail("[generate] {} with --beam: a search does not draw", flag);
  }
  if (has("--logprobs") && has("--beam")) fail("[generate] --logprobs with --beam: expected one of them");
  for (const char* flag : {"--prompt", "--input", "--interactive", "--chat"}) {
    if (has(flag)) return;
  }
  if (::isatty(0))
    fail(
        "[generate] no prompt: expected --prompt TEXT, --interactive, --chat, or lines on standard input, each a "
        "prompt");
}

// A flag is at fault, not a file.
std::vector<int32_t> flag_ids(const std::string& flag, const std::string& typed, int64_t vocabulary) {
  try {
    return parse_ids("[generate] " + flag, typed, vocabulary);
  } catch (const FileError& error) {
    throw Error(error.what());
  }
}

decode::Bias parse_bias(const std::string& typed, int64_t vocabulary) {
  const size_t equals = typed.find('=');
  const bool whole = equals != std::string::npos && equals + 1 < typed.size();
  const std::vector<int32_t> ids =
      whole ? flag_ids("--bias", typed.substr(0, equals), vocabulary) : std::vector<int32_t>{};
  if (ids.size() != 1) fail("[generate] --bias {}: expected ID=NUMBER", in_quotes(typed));
  return {ids[0], static_cast<float>(parse_number("[generate] --bias", typed.substr(equals + 1)))};
}

tasks::GenerateConfig config_of(const Options& o, const Common& common, int64_t vocabulary) {
  tasks::GenerateConfig c;
  decode::GenerationSettings& s = c.settings;
  s.sampling = {.temperature = o.temperature,
                .top_k = o.top_k,
                .top_p = o.top_p,
                .min_p = o.min_p,
                .repetition_penalty = o.repetition_penalty,
                .presence_penalty = o.presence_penalty,
                .frequency_penalty = o.frequency_penalty,
                .seed = static_cast<uint64_t>(common.seed)};
  for (const std::string& word : o.ban) {
    for (const int32_t id : flag_ids("--ban", word, vocabulary)) s.sampling.ban.push_back(id);
  }
  for (const std::string& word : o.bias) s.sampling.bias.push_back(parse_bias(word, vocabulary));
  s.max_tokens = o.max_tokens, s.alternatives = o.logprobs, s.window = o.window, s.beam = o.beam;
  c.stops = o.stop;
  c.samples = o.samples;
  c.stream.batch_tokens = o.batch_tokens;
  c.check();
  return c;
}

// Images are drawn as the model sees them: what is not said cuts nothing.
tasks::PaintConfig paint_config(const CLI::App* app, const Options& o, const Common& common) {
  tasks::PaintConfig c;
  if (given(app, "--temperature")) c.sampling.temperature = o.temperature;
  if (given(app, "--top-p")) c.sampling.top_p = o.top_p;
  c.sampling.top_k = o.top_k, c.sampling.min_p = o.min_p;
  c.sampling.seed = static_cast<uint64_t>(common.seed);
  c.batch_tokens = o.batch_tokens;
  return c;
}

std::string dumped(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json choice_json(const decode::TokenChoice& choice, const text::Tokenizer* tokenizer) {
  json one{{"id", choice.id}, {"log_probability", choice.log_prob}};
  if (tokenizer) one["piece"] = tokenizer->piece(choice.id);
  return one;
}

json to_json(const tasks::Generated& g, const Options& o, const text::Tokenizer* tokenizer) {
  json texts = json::array();
  for (const tasks::GeneratedText& t : g.texts) {
    const decode::GeneratedIds& w = t.written;
    json one{{"ids", w.ids},
             {"reason", decode::name_of(w.reason)},
             {"log_probability", w.log_probability},
             {"seconds", t.seconds},
             {"first_token_seconds", t.first_seconds},
             {"tokens_per_second", static_cast<double>(w.ids.size()) / std::max(1e-9, t.seconds)}};
    if (!o.ids) one["text"] = t.text;
    o.beam > 1 ? one["score"] = w.score : one["log_probabilities"] = json::array();
    for (const decode::GeneratedToken& token : w.tokens) {
      one["log_probabilities"].push_back(token.chosen.log_prob);
      json alternatives = json::array();
      for (const decode::TokenChoice& a : token.alternatives) alternatives.push_back(choice_json(a, tokenizer));
      if (o.logprobs > 0) one["alternatives"].push_back(std::move(alternatives));
    }
    texts.push_back(std::move(one));
  }
  return {{"prompt", g.number}, {"prompt_tokens", g.prompt_tokens}, {"texts", std::move(texts)}};
}

// Each token on a line of its own, with what else was likely.
std::string choices_text(const decode::GeneratedIds& written, const text::Tokenizer* tokenizer) {
  const auto shown = [&](const decode::TokenChoice& c) {
    const std::string name = tokenizer ? in_quotes(tokenizer->piece(c.id)) : std::to_string(c.id);
    return fmt::format("{} {:.4f}", name, c.log_prob);
  };
  std::string out;
  for (const decode::GeneratedToken& token : written.tokens) {
    out += shown(token.chosen) + "\t";
    for (const decode::TokenChoice& a : token.alternatives) out += "  " + shown(a);
    out += '\n';
  }
  return out;
}

std::string to_text(const tasks::Generated& g, const Options& o, const text::Tokenizer* tokenizer) {
  std::string out;
  for (const tasks::GeneratedText& t : g.texts) {
    if (&t != &g.texts[0] && !o.ids) out += "---\n";
    out += (o.ids ? fmt::format("{}", fmt::join(t.written.ids, " ")) : t.text) + "\n";
    if (o.logprobs > 0) out += choices_text(t.written, tokenizer);
  }
  return out;
}

// The model's own template, or heed's where it has none.
std::shared_ptr<const text::ChatTemplate> chat_template(const std::string& model, const Common& common) {
  text::NamedFiles files = text::single_tokenizer_files(model);
  if (auto own = text::read_chat_template(files, model)) return own;
  message(common, fmt::format("'{}' has no chat template: heed's own is used, its marks as plain text", model));
  text::add_default_chat_template(files, model, false);
  return text::read_chat_template(files, model);
}

// Prompts by the way in which they come; of a conversation, its turns.
class Prompts {
 public:
  Prompts(const Options& o, const tasks::GenerateConfig& config, tasks::Chat* chat, const tasks::Generator& generator)
      : o_(o), config_(config), chat_(chat), generator_(generator) {
    if (!o.has_prompt) lines_.emplace(o.input);
  }

  decode::Input next(tasks::Prompt& prompt, bool wait) {
    if (!lines_) {
      if (asked_ > 0) return decode::Input::kEnd;
      set(prompt, o_.prompt, "--prompt");
      return decode::Input::kReady;
    }
    if (o_.one_by_one() && !wait) return decode::Input::kNotYet;
    for (std::string line;;) {
      if (o_.one_by_one() && ::isatty(1)) print("> ");
      const decode::Input input = lines_->next(line, wait);
      if (input != decode::Input::kReady) return input;
      if (o_.one_by_one() && line.empty()) return decode::Input::kEnd;
      if (asks(prompt, line)) return input;
    }
  }
  // What was not read as it was typed; "" where all was.
  std::string not_text() const {
    const std::string lines = lines_ ? lines_->not_text() : "";
    if (!lines.empty()) return lines + ": read as far as they are";
    return lines_ || text::valid_utf8(o_.prompt) ? "" : "--prompt is not UTF-8 text: read as far as it is";
  }
  int64_t unknown() const { return unknown_; }

 private:
  // False where a person at a terminal is told that a question is too long, and may ask another.
  bool asks(tasks::Prompt& prompt, const std::string& line) try {
    set(prompt, line, lines_->place());
    return true;
  } catch (const FileError& error) {
    if (!o_.one_by_one() || !::isatty(0)) throw;
    say(fmt::format("heed: {}\n", error.what()));
    return false;
  }

  void set(tasks::Prompt& prompt, const std::string& typed, const std::string& where) {
    const int64_t vocabulary = generator_.model.config.vocabulary;
    prompt.by_ids = o_.ids;
    if (chat_) {
      prompt = chat_->ask(typed, config_);
    } else if (!o_.ids) {
      prompt.text = typed;
    } else {
      prompt.ids = lines_ ? parse_ids("[generate] " + where, typed, vocabulary) : flag_ids(where, typed, vocabulary);
    }
    if (o_.interactive) tasks::prompt_ids(generator_, config_, prompt, asked_);
    if (!o_.ids) unknown_ += generator_.unknown(prompt.text);
    ++asked_;
  }

  const Options& o_;
  const tasks::GenerateConfig& config_;
  tasks::Chat* chat_;
  tasks::GeneratorView generator_;
  std::optional<TextLines> lines_;
  int64_t asked_ = 0, unknown_ = 0;
};

void run(const Options& o, const Common& common) {
  const models::ModelFolder folder{o.model, o.base};
  const models::LoadOptions options{.as_stored = true, .in_halves = true};
  const tasks::Generator generator =
      o.ids ? tasks::Generator{models::load_decoder(folder, options), {}} : tasks::Generator::open(folder, options);
  tell_adapter(folder, common);
  tasks::GenerateConfig config = config_of(o, common, generator.model.config.vocabulary);
  std::optional<tasks::Chat> chat;
  if (o.chat) chat.emplace(generator, chat_template(tasks::tokenizer_folder(folder), common), o.system).prepare(config);
  Prompts prompts(o, config, chat ? &*chat : nullptr, generator);
  TextOutput out(o.output, {o.input, o.model, models::base_of(folder)});
  const bool streams = (o.has_prompt || o.one_by_one()) && o.samples == 1 && o.beam == 1 && o.logprobs == 0 && !o.ids &&
                       !common.json && o.output.empty();
  if (o.interactive) message(common, "each line is a prompt; an empty one ends");
  if (o.chat && !o.has_prompt) message(common, "each line is answered; an empty one ends");
  int64_t without_number = 0, full = 0;
  const auto give = [&](const tasks::Generated& g) {
    for (const tasks::GeneratedText& t : g.texts) {
      without_number += t.written.reason == decode::StopReason::kNoNumber;
      full += t.written.reason == decode::StopReason::kContext;
    }
    if (chat) chat->answered(g.texts[0].text);
    if (common.json) return out.write(dumped(to_json(g, o, generator.tokenizer.get())) + "\n");
    // Texts may hold line breaks: those of two prompts are told apart as those of one are.
    if (!streams && !o.ids && !o.one_by_one() && g.number > 0) out.write("---\n");
    out.write(streams ? "\n" : to_text(g, o, generator.tokenizer.get()));
  };
  const tasks::OnText on_text = [&](int64_t, int64_t, std::string_view text) {
    if (streams) print(text);
  };
  generate_text(
      generator, config, [&](tasks::Prompt& prompt, bool wait) { return prompts.next(prompt, wait); }, give, on_text);
  out.finish();
  if (chat && chat->forgotten() > 0)
    message(common, fmt::format("the context was full: the {} oldest messages were forgotten", chat->forgotten()));
  if (const std::string bad = prompts.not_text(); !bad.empty()) message(common, bad);
  if (prompts.unknown() > 0) message(common, unknown_text(prompts.unknown()));
  if (without_number > 0) {
    throw Failure(fmt::format("[generate] {} text{} broke off: the model's numbers overflow", without_number,
                              without_number == 1 ? "" : "s"));
  }
  if (full > 0) {
    message(common, fmt::format("{} text{} ended where the context of {} tokens was full (--window goes on)", full,
                                full == 1 ? "" : "s", decode::context_length(generator.model.config)));
  }
}

void add_settings(CLI::App* app, Options& o) {
  add_whole(app, "--max-tokens", o.max_tokens, {1, 1 << 24}, "new tokens at most; 128 without it");
  add_number(app, "--temperature", o.temperature, {0, 1e6},
             "0 always takes the likeliest token; 0.8 without it, of images 1");
  add_whole(app, "--top-k", o.top_k, {0, 1 << 24}, "draw from the k likeliest tokens alone; 0: all");
  add_number(app, "--top-p", o.top_p, {1e-9, 1},
             "draw from the fewest that hold this much together; 0.95 without it, of images 1");
  add_number(app, "--min-p", o.min_p, {0, 1}, "draw from those that are at least this share of the likeliest");
  add_number(app, "--repetition-penalty", o.repetition_penalty, {1e-6, 1e6},
             "divides the logits of tokens in prompt and text; 1 without it");
  add_number(app, "--presence-penalty", o.presence_penalty, {-1e6, 1e6}, "taken off the logits of tokens in the text");
  add_number(app, "--frequency-penalty", o.frequency_penalty, {-1e6, 1e6}, "the same, as often as each is there");
  add_texts(app, "--ban", o.ban, "ids that are never said", "ID");
  add_texts(app, "--bias", o.bias, "added to the logit of an id", "ID=X");
  add_texts(app, "--stop", o.stop, "the text ends before any of these", "S");
  add_whole(app, "--samples", o.samples, {1, 4096}, "texts of each prompt; a line of --- stands between texts");
  add_whole(app, "--beam", o.beam, {1, 256}, "search for the likeliest text instead of drawing");
  add_whole(app, "--logprobs", o.logprobs, {0, 1024}, "log-probabilities of each token and the N likeliest beside it");
}

}  // namespace

void add_generate(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "generate", "go on with a text, as a language model would, or draw images",
                              "heed generate MODEL --prompt \"Once upon a time\" --temperature 0.7\n"
                              "  heed generate MODEL --chat --system \"Be brief.\"\n"
                              "  heed generate MODEL --json < prompts.txt\n"
                              "  heed generate MODEL --images 16 --out grid.png");
  const auto o = std::make_shared<Options>();
  const auto images = std::make_shared<ImageOptions>();
  add_model(app, o->model, o->base);
  add_text(app, "--prompt", o->prompt, "what the text starts with; only what is new is written, as it comes", "T");
  add_text(app, "--input", o->input, "a file of prompts, one a line, .gz too; standard input without it", "F");
  add_flag(app, "--interactive", o->interactive, "prompts typed one after the other");
  add_flag(app, "--chat", o->chat,
           "a conversation by the model's chat template: each line is answered, an empty one ends");
  add_text(app, "--system", o->system, "what the model is told before the conversation", "T");
  add_text(app, "--output", o->output, "a file to write; standard output without it", "F");
  add_settings(app, *o);
  add_flag(app, "--window", o->window,
           "forget the oldest half, or turns, where the context is full, instead of ending there");
  add_flag(app, "--ids", o->ids, "token ids in and out, only the new ones; no tokenizer is needed");
  add_whole(app, "--batch-tokens", o->batch_tokens, {1, 1 << 24}, "that are worked on together");
  add_image_flags(app, *images);
  on_run(app, [app, o, images, &common] {
    if (draws_images(app, {o->model, o->base})) {
      return generate_images(app, o->model, *images, paint_config(app, *o, common), common);
    }
    check_together(app);
    o->has_prompt = given(app, "--prompt");
    run(*o, common);
  });
}

}  // namespace heed::cli
