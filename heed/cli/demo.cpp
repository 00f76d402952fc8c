// heed demo: from nothing to a translation, by a grammar of English and Korean that is part of the program.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/demo_talk.h"
#include "heed/cli/interrupts.h"
#include "heed/cli/train_progress.h"
#include "heed/data/grammar.h"
#include "heed/io/atomic_file.h"
#include "heed/train/run.h"
#include "heed/train/run_folder.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTrainPairs = 200'000, kHeldOut = 1000, kShown = 200;

struct Options {
  std::string out;
  bool overwrite = false, no_talk = false;
};

// A folder that goes again, whatever happens.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "heed-demo-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail_file("[demo] cannot make a folder like '{}'", name);
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void write_tsv(const std::string& path, const std::vector<data::SentencePair>& pairs) {
  write_file_atomically(path, [&](AtomicFile& file) {
    for (const data::SentencePair& pair : pairs) file.write(fmt::format("{}\t{}\n", pair.source, pair.target));
  });
}

// Two layers each way are enough for this grammar; no dropout, since no sentence comes often.
train::TrainConfig demo_config(const WorkFolder& work, const Options& o, uint64_t seed) {
  train::TrainConfig c;
  c.data.tsv = {work.file("train.tsv")};
  c.data.valid_tsv = {work.file("valid.tsv")};
  c.text.tokenizer = "unigram";  // cuts Korean words behind their stems more often than BPE does
  c.text.vocabulary = 1500;
  c.model.preset = "tiny";
  c.model.encoder_layers = c.model.decoder_layers = 2;
  c.model.positions = "rotary";  // word order is most of the work here, and distances are learned soonest
  c.model.dropout = 0;
  c.train.smoothing = 0;
  c.train.precision = "f32";  // the same sentences on every CPU
  c.train.batch_tokens = 1024;
  c.train.schedule = "linear";
  c.train.learning_rate = 3e-3;
  c.train.warmup = 100;
  c.train.max_steps = 1500;
  c.train.average_decay = 0.99;
  c.train.seed = static_cast<int64_t>(seed);
  c.valid.every = 300;
  c.valid.metric = "loss";
  c.valid.samples = 3;
  c.save.keep = 1;
  c.save.out = o.out.empty() ? work.file("model") : o.out;
  return c;
}

double exact_match(const tasks::Translator& translator, data::GrammarPart part, uint64_t seed) {
  const std::vector<data::SentencePair> pairs = data::grammar_sentences(part, kHeldOut, seed);
  std::vector<std::string> sources;
  sources.reserve(pairs.size());
  for (const data::SentencePair& pair : pairs) sources.push_back(pair.source);
  tasks::TranslateConfig greedy;
  greedy.stream.search.beam = 1;
  const std::vector<std::string> lines = tasks::translate(translator, sources, greedy);
  int64_t right = 0;
  for (size_t i = 0; i < pairs.size(); ++i) right += lines[i] == pairs[i].target;
  return static_cast<double>(right) / static_cast<double>(pairs.size());
}

struct Trained {
  tasks::Translator translator;
  train::RunState state;
};

// The work folder is gone when this returns: what follows may be ended by Ctrl-C at any time.
Trained learn(const Options& o, const Common& common, uint64_t seed) {
  catch_interrupts(common.quiet);
  const WorkFolder work;
  TrainProgress progress(common);
  write_tsv(work.file("train.tsv"), data::grammar_sentences(data::GrammarPart::kTrain, kTrainPairs, seed));
  write_tsv(work.file("valid.tsv"), data::grammar_sentences(data::GrammarPart::kOrdinary, kShown, seed + 1000));
  const train::TrainConfig config = demo_config(work, o, seed);
  const train::RunResult result =
      train::run_training(config, {.overwrite = o.overwrite, .keep_data = !o.out.empty()}, progress, interrupted,
                          [&](const train::TrainConfig& resolved, const train::Forecast& forecast) {
                            progress.started(resolved, forecast);
                          });
  if (result.ended == train::Ended::kAsked) {
    if (o.out.empty() || !result.prepared) throw Failure("[demo] stopped: nothing was written");
    throw Failure(fmt::format("[demo] stopped and saved after step {}: heed train {}/train.toml --resume goes on",
                              result.state.step, o.out));
  }
  return {tasks::Translator::open(config.save.out), result.state};
}

void run(const Options& o, const Common& common) {
  const uint64_t seed = common.seed_given ? static_cast<uint64_t>(common.seed) : 1;
  message(common, fmt::format("a translator from English to Korean, from {} sentences of a grammar inside this program",
                              with_commas(kTrainPairs)));
  const auto [translator, state] = learn(o, common, seed);
  release_interrupts();
  if (interrupted()) throw Failure("[demo] stopped");
  const double ordinary = exact_match(translator, data::GrammarPart::kOrdinary, seed);
  const double compositions = exact_match(translator, data::GrammarPart::kCompositions, seed);
  if (common.json) {
    print(json_text({ordinary, compositions, state.seconds, state.tokens, state.step, kHeldOut, seed}) + "\n");
    return;
  }
  print(
      fmt::format("\nTrained for {}. Of {} sentences that it never saw, {:.1f} % are translated without a fault;\n"
                  "of {} with combinations of words that it never saw, {:.1f} %.\n",
                  duration_text(state.seconds), kHeldOut, 100 * ordinary, kHeldOut, 100 * compositions));
  print(tricky_text(translator));
  print(attention_text(translator, "the cat caught the mouse"));
  if (!o.out.empty()) print(fmt::format("\nThe model is in '{0}': heed translate {0}, heed info {0}\n", o.out));
  if (!o.no_talk) talk(translator);
}

}  // namespace

void add_demo(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "demo", "the built-in example: from nothing to a translation in a minute",
                              "heed demo --out MODEL");
  const auto o = std::make_shared<Options>();
  add_text(app, "--out", o->out, "keep the model, an ordinary one", "MODEL");
  add_flag(app, "--overwrite", o->overwrite, "replace an existing MODEL");
  add_flag(app, "--no-talk", o->no_talk, "do not ask for sentences at the end");
  on_run(app, [o, &common] { run(*o, common); });
}

}  // namespace heed::cli
