// heed translate: lines in, lines out, in order, while the rest is read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/text_lines.h"
#include "heed/decode/step_rows.h"
#include "heed/models/directory.h"
#include "heed/tasks/translator.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, input, output, prefix, long_lines = "split";
  int64_t beam = 5, nbest = 1, max_length = 0, top_k = 0, samples = 1, batch_tokens = 8192, window = 1024,
          max_source = 0;
  double length_penalty = 1, temperature = 1, top_p = 1;
  bool score = false, alignment = false, ids = false, sample = false;
};

// Flags that say nothing together.
void check_together(const CLI::App* app) {
  const auto has = [app](const char* flag) { return given(app, flag); };
  for (const char* flag : {"--temperature", "--top-k", "--top-p"}) {
    if (has(flag) && !has("--sample")) fail("[translate] {} is about drawing: expected --sample with it", flag);
  }
  for (const char* flag : {"--beam", "--length-penalty"}) {
    if (has(flag) && has("--sample"))
      fail("[translate] {} with --sample: draws are no search, expected one of them", flag);
  }
  if (has("--alignment") && has("--ids"))
    fail("[translate] --alignment with --ids: words are aligned, and ids are none");
}

tasks::TranslateConfig config_of(const Options& o, const Common& common) {
  tasks::TranslateConfig c;
  decode::SearchConfig& s = c.stream.search;
  s.beam = o.sample ? 1 : o.beam;
  s.nbest = o.sample ? 1 : o.nbest;
  s.length_penalty = o.length_penalty;
  s.max_length = o.max_length;
  s.sample = o.sample;
  s.sampling = {
      .temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p, .seed = static_cast<uint64_t>(common.seed)};
  c.samples = o.sample ? o.nbest : 1;
  c.stream.batch_tokens = o.batch_tokens, c.stream.window = o.window;
  c.max_source = o.max_source;
  c.long_lines = o.long_lines == "refuse" ? tasks::LongLines::kRefuse : tasks::LongLines::kSplit;
  c.alignment = o.alignment;
  s.check();
  return c;
}

std::string pairs_text(const std::vector<tasks::WordPair>& pairs) {
  std::string text;
  for (const auto& [source, target] : pairs) text += fmt::format("{}{}-{}", text.empty() ? "" : " ", source, target);
  return text;
}

nlohmann::json to_json(const tasks::Translated& t, const Options& o) {
  nlohmann::json best = nlohmann::json::array();
  for (const tasks::TranslatedLine& line : t.best) {
    nlohmann::json one{
        {"score", line.score}, {"log_probability", line.log_probability}, {"ids", line.ids}, {"ended", line.ended}};
    if (!o.ids) one["text"] = line.text;
    if (o.alignment) one["alignment"] = line.alignment;
    best.push_back(std::move(one));
  }
  return {{"line", t.number}, {"translations", std::move(best)}};
}

// Plain: the text alone. More is asked for by flags, Moses' way: "0 ||| text ||| score"; of an empty text as of any.
std::string to_text(const tasks::Translated& t, const Options& o) {
  std::string out;
  for (const tasks::TranslatedLine& line : t.best) {
    const bool numbered = o.nbest > 1;
    if (numbered) out += fmt::format("{} ||| ", t.number);
    out += o.ids ? fmt::format("{}", fmt::join(line.ids, " ")) : line.text;
    if (numbered || o.score) out += fmt::format(" ||| {:.6f}", line.score);
    if (o.alignment) out += " ||| " + pairs_text(line.alignment);
    out += '\n';
  }
  return out;
}

// A flag is at fault, not a file.
std::vector<int32_t> prefix_of(const std::string& typed, int64_t vocabulary) {
  try {
    return parse_ids("[translate] --prefix", typed, vocabulary);
  } catch (const FileError& error) {
    throw Error(error.what());
  }
}

// A translation that begins where the model's positions end.
void check_prefix(const Options& o, const tasks::Translator& translator, const std::vector<int32_t>& ids) {
  const size_t tokens = o.ids || o.prefix.empty() ? ids.size() : translator.tokenizers.target->encode(o.prefix).size();
  const int64_t most = decode::longest_sequence(translator.model.config.decoder);
  if (tokens > 0 && static_cast<int64_t>(tokens) >= most)
    fail("[translate] --prefix has {} tokens, and the positions of the model are {}: expected fewer", tokens, most);
}

void run(const Options& o, const Common& common) {
  const tasks::TranslateConfig config = config_of(o, common);
  TextLines lines(o.input);
  const tasks::Translator translator =
      o.ids ? tasks::Translator{models::load_translator(o.model, {.for_running = true}), {}}
            : tasks::Translator::open(o.model);
  const models::ModelConfig& model = translator.model.config;
  const std::vector<int32_t> prefix_ids = o.ids ? prefix_of(o.prefix, model.vocabulary) : std::vector<int32_t>{};
  check_prefix(o, translator, prefix_ids);
  TextOutput out(o.output, {o.input, o.model});
  int64_t cut = 0, without_number = 0;
  const auto next = [&](tasks::SourceLine& line, bool wait) {
    const decode::Input input = lines.next(line.text, wait);
    if (input != decode::Input::kReady) return input;
    if (!o.ids) line.prefix = o.prefix;
    line.by_ids = o.ids;
    line.prefix_ids = prefix_ids;
    if (o.ids) line.ids = parse_ids("[translate] " + lines.place(), line.text, model.source_vocabulary);
    return input;
  };
  translate_text(translator, config, next, [&](const tasks::Translated& t) {
    for (const tasks::TranslatedLine& line : t.best) cut += !line.ended && line.has_number();
    without_number += !t.best[0].has_number();
    out.write(common.json ? to_json(t, o).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                          : to_text(t, o));
  });
  out.finish();
  if (const std::string bad = lines.not_text(); !bad.empty()) message(common, bad + ": translated as far as they are");
  if (without_number > 0) {
    throw Failure(
        fmt::format("[translate] {} lines have no translation: the model's numbers overflow on them", without_number));
  }
  if (cut > 0)
    message(common,
            fmt::format("{} translations reached the longest allowed length without an end (--max-length)", cut));
}

}  // namespace

void add_translate(CLI::App& parent, const Common& common) {
  CLI::App* app =
      add_command(parent, "translate", "translate lines of text", "heed translate MODEL --beam 5 < in.txt > out.txt");
  const auto o = std::make_shared<Options>();
  add_text(app, "MODEL", o->model, "a model directory", "", Need::kRequired);
  add_text(app, "--input", o->input, "a file to read, .gz too; standard input without it", "F");
  add_text(app, "--output", o->output, "a file to write; standard output without it", "F");
  add_whole(app, "--beam", o->beam, {1, 256}, "hypotheses that are followed; 5 without it, 1 is greedy");
  add_number(app, "--length-penalty", o->length_penalty, {0, 10}, "score = log p / length^penalty; 1 without it");
  add_whole(app, "--nbest", o->nbest, {1, 256}, "translations of each line");
  add_flag(app, "--score", o->score, "the score behind each translation");
  add_flag(app, "--alignment", o->alignment, "which words belong together: 0-0 1-2 ...");
  add_flag(app, "--sample", o->sample, "draw translations by their probability (--nbest of them)");
  add_number(app, "--temperature", o->temperature, {1e-6, 1e6}, "of the draws; 1 without it");
  add_whole(app, "--top-k", o->top_k, {0, 1 << 24}, "draw from the k likeliest tokens alone; 0: all");
  add_number(app, "--top-p", o->top_p, {1e-9, 1}, "draw from the fewest tokens that hold this much together");
  add_whole(app, "--max-length", o->max_length, {0, 1 << 20},
            "tokens of a translation beyond its prefix; 0: by the length of the line");
  add_text(app, "--prefix", o->prefix, "what every translation starts with");
  add_flag(app, "--ids", o->ids, "lines of token ids in and out, without the prefix; no tokenizer is needed");
  add_choice(app, "--long", o->long_lines, {"split", "refuse"}, "lines over --max-source tokens: split without it");
  add_whole(app, "--max-source", o->max_source, {2, 1 << 20},
            "tokens of a line; without it as many as the model was trained with");
  add_whole(app, "--batch-tokens", o->batch_tokens, {1, 1 << 24}, "that are worked on together");
  add_whole(app, "--window", o->window, {1, 1 << 20}, "lines read ahead");
  on_run(app, [app, o, &common] {
    check_together(app);
    if (!given(app, "--beam")) o->beam = std::max(o->beam, o->nbest);
    if (o->nbest > o->beam && !o->sample)
      fail("[translate] --nbest {} of a beam of {}: expected at most as many", o->nbest, o->beam);
    if (o->prefix.find_first_of("\n\r") != std::string::npos)
      fail("[translate] --prefix holds a line break: a translation is one line");
    run(*o, common);
  });
}

}  // namespace heed::cli
