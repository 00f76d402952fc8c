// heed score: how likely a model finds given translations.
#include "heed/tasks/score.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/text_lines.h"
#include "heed/models/directory.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, src, tgt, input, output;
  bool ids = false;
};

// Source and translation, and with --ids the places that they come from.
struct Pairs {
  std::vector<tasks::TextPair> pairs, places;
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
  return read;
}

std::vector<tasks::PairScore> scores_of(const Options& o, const Pairs& read) {
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

void run(const Options& o, const Common& common) {
  const Pairs pairs = read_pairs(o);
  TextOutput out(o.output);
  for (const tasks::PairScore& s : scores_of(o, pairs)) {
    const double by_token = s.log_probability / static_cast<double>(s.tokens);
    if (common.json) {
      out.write(nlohmann::json{
                    {"log_probability", s.log_probability}, {"tokens", s.tokens}, {"perplexity", std::exp(-by_token)}}
                    .dump() +
                "\n");
    } else {
      out.write(fmt::format("{:.6f}\t{:.6f}\n", s.log_probability, by_token));
    }
  }
  out.finish();
}

}  // namespace

void add_score(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "score", "log-probabilities of given translations, in all and by token",
                              "heed score MODEL --src in.txt --tgt out.txt");
  const auto o = std::make_shared<Options>();
  add_text(app, "MODEL", o->model, "a model directory", "", Need::kRequired);
  add_text(app, "--src", o->src, "source sentences; without --src and --tgt, lines of source<TAB>translation are read",
           "F");
  add_text(app, "--tgt", o->tgt, "their translations", "F");
  add_text(app, "--input", o->input, "a file to read, .gz too; standard input without it", "F");
  add_text(app, "--output", o->output, "a file to write; standard output without it", "F");
  add_flag(app, "--ids", o->ids, "lines of token ids; no tokenizer is needed");
  on_run(app, [o, &common] { run(*o, common); });
}

}  // namespace heed::cli
