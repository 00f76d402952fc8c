// A small translator, trained once for all tests of a program, and ways to ask it.
#pragma once

#include "heed/cli/program_test.h"
#include "heed/data/grammar.h"
#include "heed/train/run.h"

namespace heed::cli {

class Trained : public Program {
 protected:
  // Not in SetUpTestSuite: what fails there counts as skipped.
  Trained() {
    if (model_.empty()) make_model();
  }
  static void TearDownTestSuite() {
    fs::remove_all(shared_);
    model_.clear();
  }

  static void make_model() {
    std::string name = (fs::temp_directory_path() / "heed-model-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    shared_ = name;
    std::ofstream source(shared_ / "train.en"), target(shared_ / "train.ko");
    for (const data::SentencePair& pair : data::grammar_sentences(data::GrammarPart::kTrain, 300, 1)) {
      source << pair.source << '\n';
      target << pair.target << '\n';
    }
    source.close(), target.close();
    train_into((shared_ / "model").string(), 200, 1);
    model_ = (shared_ / "model").string();
  }

  static void train_into(const std::string& out, int64_t steps, int64_t seed, int64_t max_length = 256) {
    train::TrainConfig c;
    c.data.src = {(shared_ / "train.en").string()}, c.data.tgt = {(shared_ / "train.ko").string()};
    c.text.vocabulary = 600;
    c.model.preset = "tiny";
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.model.d_model = 32, c.model.d_ff = 64, c.model.dropout = 0;
    c.train.batch_tokens = 512, c.train.max_steps = steps, c.train.learning_rate = 0.01, c.train.warmup = 20;
    c.train.seed = seed;
    c.data.max_length = max_length;
    c.save.out = out;
    train::Observer silent;
    train::run_training(c, {}, silent, [] { return false; });
  }

  // The model without what training left behind, to damage.
  std::string copy_of_model(const std::string& name = "copy") {
    const fs::path copy = folder_ / name;
    fs::create_directory(copy);
    for (const fs::directory_entry& entry : fs::directory_iterator(model_)) {
      if (entry.is_regular_file()) fs::copy_file(entry.path(), copy / entry.path().filename());
    }
    return copy.string();
  }

  // What the program answers to these lines; it must have no complaint.
  std::string answer(const std::string& input, const std::vector<std::string>& arguments) {
    const Outcome outcome = run_with(input, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  std::string translated(const std::string& input, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"translate", model_, "--quiet"});
    return answer(input, more);
  }

  // A file is at fault, or (status 2) the request: one line, and nothing written.
  void expect_wrong(const std::string& input, const std::vector<std::string>& arguments, int status,
                    const std::string& part) {
    const Outcome outcome = run_with(input, arguments);
    const std::string asked = testing::PrintToString(arguments);
    EXPECT_EQ(outcome.status, status) << asked << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << asked << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("heed: [")) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << asked << "\n  found: " << outcome.err << "  expected: " << part;
    EXPECT_TRUE(fs::is_empty(folder_ / "work")) << asked;
  }

  static inline fs::path shared_;
  static inline std::string model_;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace heed::cli
