// heed eval: BLEU, chrF and perplexity of a translator on sentences with references.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/text_lines.h"
#include "heed/tasks/score.h"
#include "heed/train/bleu.h"
#include "heed/train/bootstrap.h"
#include "heed/train/chrf.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, compare, src, ref, tokens = "13a", save;
  int64_t beam = 5;
  double length_penalty = 1;
  bool lowercase = false;
};

struct Evaluated {
  std::vector<std::string> lines;
  double perplexity = 0;
  int64_t left_out = 0;  // of the perplexity: pairs beyond the model's positions
  train::SentenceCounts bleu_counts, chrf_counts;
  train::Bleu bleu;
  double chrf = 0;
};

train::BleuConfig bleu_config(const Options& o) {
  return {.tokens = train::bleu_tokens(o.tokens), .lowercase = o.lowercase};
}
train::ChrfConfig chrf_config(const Options& o) { return {.lowercase = o.lowercase}; }

Evaluated evaluate(const tasks::Translator& translator, const Options& o, const std::vector<std::string>& source,
                   const std::vector<std::string>& reference) {
  tasks::TranslateConfig config;
  config.stream.search.beam = o.beam;
  config.stream.search.length_penalty = o.length_penalty;
  Evaluated e;
  e.lines = tasks::translate(translator, source, config);
  std::vector<tasks::TextPair> pairs;
  for (size_t i = 0; i < source.size(); ++i) pairs.push_back({source[i], reference[i]});
  tasks::Score all;
  for (const tasks::Score& s : tasks::score_pairs(translator, pairs, {.too_long = tasks::PairScoreConfig::kLeaveOut})) {
    all.log_probability += s.log_probability, all.tokens += s.tokens;
    e.left_out += s.tokens == 0;
  }
  e.perplexity = all.perplexity();
  e.bleu_counts = train::bleu_counts(e.lines, reference, bleu_config(o));
  e.chrf_counts = train::chrf_counts(e.lines, reference, chrf_config(o));
  e.bleu = train::bleu_of_counts(e.bleu_counts.sum(), bleu_config(o));
  e.chrf = train::chrf_of_counts(e.chrf_counts.sum(), chrf_config(o));
  return e;
}

nlohmann::json to_json(const Evaluated& e, const std::string& model, const Options& o) {
  return {{"model", model},
          {"sentences", e.lines.size()},
          {"bleu", e.bleu.score},
          {"bleu_signature", train::bleu_signature(bleu_config(o), HEED_VERSION)},
          {"chrf", e.chrf},
          {"chrf_signature", train::chrf_signature(chrf_config(o), HEED_VERSION)},
          {"perplexity", e.perplexity},
          {"pairs_without_perplexity", e.left_out}};
}

std::string to_text(const Evaluated& e, const Options& o) {
  const std::string left_out =
      e.left_out == 0 ? "" : fmt::format(" without {} pairs longer than the model has positions for", e.left_out);
  return fmt::format("BLEU|{} = {}\n{}|{} = {:.2f}\nperplexity = {:.4f}{}\n",
                     train::bleu_signature(bleu_config(o), HEED_VERSION), e.bleu.text(),
                     train::chrf_name(chrf_config(o)), train::chrf_signature(chrf_config(o), HEED_VERSION), e.chrf,
                     e.perplexity, left_out);
}

nlohmann::json paired(const train::SentenceCounts& a, const train::SentenceCounts& b,
                      const train::ScoreOfCounts& score) {
  const train::PairedBootstrap p = train::paired_bootstrap(a, b, score);
  const auto estimate = [](const train::BootstrapEstimate& e) {
    return nlohmann::json{{"score", e.score}, {"mean", e.mean}, {"interval", e.interval}};
  };
  return {{"baseline", estimate(p.baseline)}, {"system", estimate(p.system)}, {"p_value", p.p_value}};
}

std::string paired_text(const char* name, const nlohmann::json& p) {
  const auto line = [](const nlohmann::json& e) {
    return fmt::format("{:.2f} ({:.2f} ± {:.2f})", e["score"].get<double>(), e["mean"].get<double>(),
                       e["interval"].get<double>());
  };
  const double value = p["p_value"].get<double>();
  return fmt::format("{}: {} against {}, p = {:.4f}{}\n", name, line(p["baseline"]), line(p["system"]), value,
                     value < 0.05 ? ": a real difference" : ": may be chance");
}

void run(const Options& o, const Common& common) {
  std::optional<TextOutput> save;
  if (!o.save.empty()) save.emplace(o.save, std::vector{o.src, o.ref, o.model, o.compare});
  const std::vector<std::string> source = read_lines(o.src), reference = read_lines(o.ref);
  check_equal_lines("[eval]", {o.src, source.size()}, {o.ref, reference.size()});
  if (source.empty()) fail_file("[eval] '{}' has no lines", o.src);
  // Both are opened before either translates: an hour of work is not lost to a name.
  const tasks::Translator translator = tasks::Translator::open(o.model);
  std::optional<tasks::Translator> other;
  if (!o.compare.empty()) other.emplace(tasks::Translator::open(o.compare));
  const Evaluated first = evaluate(translator, o, source, reference);
  nlohmann::json j = to_json(first, o.model, o);
  std::string text = to_text(first, o);
  if (save) {
    for (const std::string& line : first.lines) save->write(line + "\n");
    save->finish();
  }
  if (other) {
    const Evaluated second = evaluate(*other, o, source, reference);
    j["compare"] = to_json(second, o.compare, o);
    j["compare"]["paired_bleu"] = paired(first.bleu_counts, second.bleu_counts, [&](std::span<const int64_t> sum) {
      return train::bleu_of_counts(sum, bleu_config(o)).score;
    });
    j["compare"]["paired_chrf"] = paired(first.chrf_counts, second.chrf_counts, [&](std::span<const int64_t> sum) {
      return train::chrf_of_counts(sum, chrf_config(o));
    });
    text += fmt::format("{}:\n", o.compare) + to_text(second, o) + paired_text("BLEU", j["compare"]["paired_bleu"]) +
            paired_text("chrF", j["compare"]["paired_chrf"]);
  }
  print(common.json ? j.dump() + "\n" : text);
}

}  // namespace

void add_eval(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "eval", "BLEU, chrF and perplexity of a translator",
                              "heed eval MODEL --src test.en --ref test.de --compare MODEL2");
  const auto o = std::make_shared<Options>();
  add_text(app, "MODEL", o->model, "a model directory", "", Need::kRequired);
  add_text(app, "--src", o->src, "source sentences; .gz too", "F", Need::kRequired);
  add_text(app, "--ref", o->ref, "their references, as many lines", "F", Need::kRequired);
  add_text(app, "--compare", o->compare, "another MODEL: is one better, or was it chance? (paired bootstrap)",
           "MODEL2");
  add_text(app, "--save", o->save, "write the translations to this file", "F");
  add_whole(app, "--beam", o->beam, {1, 256}, "5 without it");
  add_number(app, "--length-penalty", o->length_penalty, {0, 10}, "1 without it");
  add_choice(app, "--tokenize", o->tokens, train::bleu_tokens_names(), "how BLEU splits words; 13a without it");
  add_flag(app, "--lowercase", o->lowercase, "without regard to case");
  on_run(app, [o, &common] { run(*o, common); });
}

}  // namespace heed::cli
