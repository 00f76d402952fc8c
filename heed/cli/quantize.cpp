// heed quantize: a language model with its matrices in 8 or 4 bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/interrupts.h"
#include "heed/cli/new_folder.h"
#include "heed/cli/text_lines.h"
#include "heed/cli/train_progress.h"
#include "heed/data/text_store.h"
#include "heed/models/quantise.h"
#include "heed/tasks/calibration_texts.h"
#include "heed/tasks/score.h"
#include "heed/train/preparation.h"

namespace heed::cli {
namespace {

struct Options {
  std::string model, out, text, calibrate;
  std::string bits = "8";
  bool plain = false, overwrite = false;
};

// Matrices of one place in every layer, told together: the numbers in their names are left out.
struct Group {
  std::string type;
  int64_t matrices = 0, numbers = 0, bytes = 0;
  double squared_error = 0, squared_size = 0;
  double relative_error() const { return squared_size > 0 ? std::sqrt(squared_error / squared_size) : 0; }
};

std::string without_numbers(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('*')) kind += '*';
  }
  return kind;
}

std::map<std::string, Group> groups_of(const models::Quantisation& done) {
  std::map<std::string, Group> groups;
  for (const models::QuantisedMatrix& m : done.matrices) {
    Group& g = groups[without_numbers(m.name)];
    g.type = name(m.type);
    ++g.matrices, g.numbers += m.numbers, g.bytes += m.bytes;
    g.squared_error += m.squared_error, g.squared_size += m.squared_size;
  }
  return groups;
}

// What the perplexity is of: a text that is given, or ids that lie beside the model or are drawn by it; nothing without a name.
using Texts = std::vector<std::vector<int32_t>>;
struct Sample {
  std::string name, text;
  Texts ids;
};

double perplexity(const std::string& folder, const Sample& sample) {
  tasks::Score all;
  const std::vector<tasks::Score> scores =
      sample.ids.empty() ? tasks::score_texts(tasks::Generator::open(folder), {sample.text})
                         : tasks::score_sequences(models::load_decoder(folder, {.as_stored = true}), sample.ids);
  for (const tasks::Score& one : scores) all.log_probability += one.log_probability, all.tokens += one.tokens;
  if (all.tokens == 0) fail_file("[quantize] '{}' has no text to measure with", sample.name);
  return all.perplexity();
}

// Ids that the model's own training validated with, the first of them; none where they are gone, or are of conversations, in
// which questions do not count.
Texts validation_ids(const std::string& model) try {
  constexpr int64_t kMost = 65536;
  const auto store = data::TextStore::open(train::RunPaths{model}.in_training("valid.ids"));
  const models::ModelConfig config = models::read_config(model);
  const bool images = std::filesystem::exists(train::RunPaths{model}.in_model(text::kPixelsFile));
  Texts texts;
  int64_t tokens = 0;
  for (int64_t i = 0; i < store.documents() && tokens < kMost; ++i) {
    const auto begin = static_cast<int64_t>(store.borders()[static_cast<size_t>(i)]);
    const int64_t end =
        std::min(static_cast<int64_t>(store.borders()[static_cast<size_t>(i) + 1]), begin + kMost - tokens);
    std::vector<int32_t>& ids = texts.emplace_back();
    if (!images && config.tokens.start >= 0) ids.push_back(config.tokens.start);
    ids.insert(ids.end(), store.ids().begin() + begin, store.ids().begin() + end);
    tokens += end - begin;
    if (std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return id < 0 || id >= config.vocabulary; })) return {};
  }
  return texts;
} catch (const FileError&) {
  return {};
}

Sample sample_to_measure(const Options& o) {
  if (!o.text.empty()) return {o.text, read_whole_text("[quantize]", o.text), {}};
  Texts ids = validation_ids(o.model);
  return ids.empty() ? Sample{} : Sample{"the text that it was validated with", {}, std::move(ids)};
}

uint64_t drawn_seed(const Common& common) {
  return common.seed_given ? static_cast<uint64_t>(common.seed) : tasks::CalibrationConfig{}.seed;
}

// Where the model draws texts anyway and there is none to measure with: others than those that it is calibrated with.
Sample drawn_to_measure(const Options& o, const Common& common) {
  if (o.bits != "4" || o.plain || !o.calibrate.empty()) return {};
  constexpr int64_t kTokens = 2048;
  Texts ids = tasks::drawn_texts(models::load_decoder(o.model, {.as_stored = true}),
                                 {.tokens = kTokens, .seed = drawn_seed(common) + 1});
  return ids.empty() ? Sample{} : Sample{"texts that the model draws", {}, std::move(ids)};
}

// What the model is run over before its weights are rounded to 4 bits; none: each weight is rounded by itself.
std::vector<std::vector<int32_t>> calibration_texts(const Options& o, const Common& common, TrainProgress& progress) {
  if (!o.calibrate.empty()) {
    const std::string text = read_whole_text("[quantize]", o.calibrate);
    std::vector<std::vector<int32_t>> texts = tasks::calibration_pieces(tasks::Generator::open(o.model), text);
    if (texts.empty()) fail_file("[quantize] '{}' has no text to calibrate with", o.calibrate);
    return texts;
  }
  tasks::CalibrationConfig config;
  config.seed = drawn_seed(common);
  const models::Decoder model = models::load_decoder(o.model, {.as_stored = true});
  std::vector<std::vector<int32_t>> texts =
      tasks::drawn_texts(model, config, [&](double share) { progress.on_progress("drawing texts", share); });
  if (texts.empty()) {
    progress.on_message(
        "the model writes no text to calibrate with: each weight is rounded by itself, as with --plain");
  }
  return texts;
}

models::QuantisedModel quantised(const Options& o, const Common& common) {
  TrainProgress progress(common);
  models::QuantiseOptions options;
  options.bits = o.bits == "4" ? 4 : 8;
  if (!o.plain) options.texts = [&] { return calibration_texts(o, common, progress); };
  options.on_progress = [&](double share) { progress.on_progress("calibrating", share); };
  return {o.model, options};
}

void check(const Options& o) {
  std::error_code ignored;
  if (std::filesystem::equivalent(o.model, o.out, ignored))
    fail("[quantize] --out '{}' is the model itself: expected another folder", o.out);
  if (o.calibrate.empty()) return;
  if (o.bits != "4") fail("[quantize] --calibrate with {} bits: expected --bits 4, 8 need none", o.bits);
  if (o.plain) fail("[quantize] --calibrate with --plain: expected one of them");
}

void run(const Options& o, const Common& common) {
  const NewFolder folder("quantize", o.out, o.overwrite);
  check(o);
  Sample sample = sample_to_measure(o);
  double before = sample.name.empty() ? 0 : perplexity(o.model, sample);
  // All that takes long comes before the first byte is written; what was begun then is written whole.
  const models::QuantisedModel model = quantised(o, common);
  if (sample.name.empty()) {
    sample = drawn_to_measure(o, common);
    if (!sample.name.empty()) before = perplexity(o.model, sample);
  }
  catch_interrupts(common.quiet);
  folder.write([&](const std::string& path) {
    copy_tokenizer(o.model, path);
    model.save(path);
  });
  release_interrupts();
  if (interrupted()) return;
  const models::Quantisation& done = model.report();
  nlohmann::json j = {
      {"bits", o.bits == "4" ? 4 : 8}, {"bytes_before", done.bytes_before}, {"bytes_after", done.bytes_after}};
  for (const auto& [kind, g] : groups_of(done)) {
    const double error = g.relative_error();
    j["groups"].push_back({{"tensors", kind}, {"matrices", g.matrices}, {"type", g.type}, {"relative_error", error}});
    if (!common.json) print(fmt::format("{:48} {:>4} x {}  error {:6.3f} %\n", kind, g.matrices, g.type, 100 * error));
  }
  for (const std::string& kept : done.kept) {
    message(common, fmt::format("{} stays as it is: its sizes are no multiples of a group", kept));
  }
  if (!common.json) {
    print(fmt::format("{:.1f} MB of tensors, {:.1f} MB before\n", 1e-6 * static_cast<double>(done.bytes_after),
                      1e-6 * static_cast<double>(done.bytes_before)));
  }
  if (sample.name.empty()) {
    message(common, "no perplexity before and after: it needs --text FILE");
  } else {
    const double after = perplexity(o.out, sample);
    j["perplexity_before"] = before, j["perplexity_after"] = after;
    j["perplexity_of"] = sample.name;
    if (!common.json) {
      print(fmt::format("perplexity {:.4f}, {:.4f} before: {:+.3f} %{}\n", after, before, 100 * (after / before - 1),
                        o.text.empty() ? ", of " + sample.name : ""));
    }
  }
  if (common.json) print(j.dump() + "\n");
}

}  // namespace

void add_quantize(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "quantize", "a language model in 8 or 4 bits",
                              "heed quantize MODEL --bits 8 --out SMALLER --text held-out.txt");
  const auto o = std::make_shared<Options>();
  add_text(app, "MODEL", o->model, "a model directory", "", Need::kRequired);
  add_text(app, "--out", o->out, "the directory to write", "SMALLER", Need::kRequired);
  add_choice(app, "--bits", o->bits, {"8", "4"},
             "8 without it; with 4 tables of tokens and values of attention have 8");
  add_text(app, "--calibrate", o->calibrate, "4 bits that suit this text; without it those that the model draws",
           "FILE");
  add_flag(app, "--plain", o->plain, "4 bits at once, each weight by itself: less exact");
  add_text(
      app, "--text", o->text,
      "the perplexity before and after is of this text; without it of what the model was validated with, where that "
      "is still there. Products round activations to 8 bits too",
      "FILE");
  add_flag(app, "--overwrite", o->overwrite, "replace an existing model");
  on_run(app, [o, &common] { run(*o, common); });
}

}  // namespace heed::cli
