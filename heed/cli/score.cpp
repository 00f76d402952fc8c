// heed score: how likely a model finds given translations, or a language model given texts.
#include "heed/tasks/score.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numbers>

#include "heed/base/error.h"
#include "heed/cli/adapters.h"
#include "heed/cli/arguments.h"
#include "heed/cli/text_lines.h"
#include "heed/data/byte_source.h"
#include "heed/text/unicode.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, base, src, tgt, input, output;
  int64_t stride = 0;
  bool ids = false, whole = false, with_end = false;

  models::ModelFolder folder() const { return {model, base}; }
};

// Source and translation, and with --ids the places that they come from.
struct Pairs {
  std::vector<tasks::TextPair> pairs, places;
  std::string not_text;
};

Pairs read_pairs(const Options& o) {
  Pairs read;
  if (o.src.empty() != o.tgt.empty()) fail("[score] --src and --tgt go together: one is missing");
  if (!o.src.empty() && !o.input.empty()) fail("[score] both --src and --input: expected one of them");
  if (!o.src.empty()) {
    const std::vector<std::string> source = read_lines(o.src), target = read_lines(o.tgt);
    check_equal_lines("[score]", {o.src, source.size()}, {o.tgt, target.size()});
    for (size_t i = 0; i < source.size(); ++i) {
      read.pairs.push_back({source[i], target[i]});
      if (o.ids) read.places.push_back({fmt::format("{}:{}", o.src, i + 1), fmt::format("{}:{}", o.tgt, i + 1)});
    }
    return read;
  }
  TextLines lines(o.input);
  for (std::string line; lines.next(line, true) == decode::Input::kReady;) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) fail_file("[score] {} has no tab, expected source<TAB>translation", lines.place());
    read.pairs.push_back({line.substr(0, tab), line.substr(tab + 1)});
    if (o.ids) read.places.push_back({lines.place(), lines.place()});
  }
  read.not_text = lines.not_text();
  return read;
}

std::vector<tasks::Score> scores_of(const Options& o, const Pairs& read) {
  if (!o.ids) return tasks::score_pairs(tasks::Translator::open(o.model), read.pairs);
  const models::EncoderDecoder model = models::load_translator(o.model, {.for_running = true});
  std::vector<decode::IdPair> ids;
  for (size_t i = 0; i < read.pairs.size(); ++i) {
    const tasks::TextPair &pair = read.pairs[i], &place = read.places[i];
    ids.push_back({parse_ids("[score] " + place.source, pair.source, model.config.source_vocabulary),
                   parse_ids("[score] " + place.target, pair.target, model.config.vocabulary)});
  }
  return tasks::score_ids(model, ids);
}

// What a language model is to score, lines or all in one, and with --ids where each begins.
struct Texts {
  std::vector<std::string> texts, places;
  std::string not_text = {};
};
Texts read_texts(const Options& o) {
  if (o.whole && !o.ids) return {{read_whole_text("[score]", o.input)}, {}, {}};
  Texts read;
  TextLines lines(o.input);
  for (std::string line; lines.next(line, true) == decode::Input::kReady;) {
    if (o.whole && !read.texts.empty()) {
      read.texts[0] += ' ' + line;
      continue;
    }
    read.texts.push_back(line);
    read.places.push_back(lines.place());
  }
  read.not_text = lines.not_text();
  return read;
}

std::vector<tasks::Score> scores_of(const Options& o, const Texts& read, const Common& common) {
  const tasks::TextScoreConfig config{.stride = o.stride, .with_end = o.with_end};
  if (!o.ids) {
    const tasks::Generator generator = tasks::Generator::open(o.folder());
    int64_t unknown = 0;
    for (const std::string& text : read.texts) unknown += tasks::GeneratorView(generator).unknown(text);
    if (unknown > 0) message(common, unknown_text(unknown));
    return tasks::score_texts(generator, read.texts, config);
  }
  const models::Decoder model = models::load_decoder(o.folder(), {.as_stored = true});
  std::vector<std::vector<int32_t>> ids;
  for (size_t i = 0; i < read.texts.size(); ++i) {
    ids.push_back(parse_ids("[score] " + read.places[i], read.texts[i], model.config.vocabulary));
  }
  return tasks::score_sequences(model, ids, config);
}

nlohmann::json to_json(const tasks::Score& s) {
  return {{"log_probability", s.log_probability}, {"tokens", s.tokens}, {"perplexity", s.perplexity()}};
}

void run_pairs(const Options& o, const Common& common) {
  const Pairs pairs = read_pairs(o);
  if (!pairs.not_text.empty()) message(common, pairs.not_text + ": read as far as they are");
  TextOutput out(o.output, {o.input, o.src, o.tgt, o.model});
  for (const tasks::Score& s : scores_of(o, pairs)) {
    out.write(common.json ? to_json(s).dump() + "\n"
                          : fmt::format("{:.6f}\t{:.6f}\n", s.log_probability, s.by_token()));
  }
  out.finish();
}

std::string perplexity_text(const tasks::Score& s) {
  return s.tokens == 0 ? "-" : fmt::format("{:.6f}", s.perplexity());
}

void run_texts(const Options& o, const Common& common) {
  const Texts texts = read_texts(o);
  TextOutput out(o.output, {o.input, o.model, models::base_of(o.folder())});
  const std::vector<tasks::Score> scores = scores_of(o, texts, common);
  if (!texts.not_text.empty()) message(common, texts.not_text + ": read as far as they are");
  tell_adapter(o.folder(), common);
  size_t at = 0;
  for (const tasks::Score& s : scores) {
    nlohmann::json j = to_json(s);
    const double bytes = static_cast<double>(texts.texts[at++].size());
    if (!o.ids && bytes > 0) j["bits_per_byte"] = -s.log_probability / (std::numbers::ln2 * bytes);
    out.write(common.json ? j.dump() + "\n"
                          : fmt::format("{:.6f}\t{:.6f}\t{}\n", s.log_probability, s.by_token(), perplexity_text(s)));
  }
  out.finish();
}

void run(const CLI::App* app, const Options& o, const Common& common) {
  const bool translator = models::read_config(o.folder()).family == models::Family::kEncoderDecoder;
  for (const char* flag : {"--whole", "--stride", "--with-end"}) {
    if (translator && given(app, flag)) fail("[score] {} is for language models: '{}' is a translator", flag, o.model);
  }
  for (const char* flag : {"--src", "--tgt"}) {
    if (!translator && given(app, flag)) fail("[score] {} is for translators: '{}' is none", flag, o.model);
  }
  if (o.ids && o.with_end) fail("[score] --with-end with --ids: ids are scored as they are");
  translator ? run_pairs(o, common) : run_texts(o, common);
}

}  // namespace

void add_score(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "score", "log-probabilities of given translations or texts, in all and by token",
                              "heed score MODEL --src in.txt --tgt out.txt\n"
                              "  heed score MODEL --whole --input book.txt");
  const auto o = std::make_shared<Options>();
  add_model(app, o->model, o->base);
  add_text(app, "--src", o->src, "source sentences; without --src and --tgt, lines of source<TAB>translation are read",
           "F");
  add_text(app, "--tgt", o->tgt, "their translations", "F");
  add_text(app, "--input", o->input, "a file to read, .gz too; standard input without it", "F");
  add_text(app, "--output", o->output, "a file to write; standard output without it", "F");
  add_flag(app, "--ids", o->ids, "lines of token ids; no tokenizer is needed");
  add_flag(app, "--whole", o->whole, "of a language model: the whole file is one text, not each line");
  add_whole(
      app, "--stride", o->stride, {1, INT64_MAX},
      "of a language model: tokens from one window of a long text to the next; half of its context without it. The "
      "context itself, with --with-end, is what training says of packed text");
  add_flag(app, "--with-end", o->with_end, "of a language model: count the token that ends a text, as training does");
  on_run(app, [app, o, &common] { run(app, *o, common); });
}

}  // namespace heed::cli
