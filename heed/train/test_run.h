// What the tests of training share: a run so small that a step takes a millisecond.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/data/test_images.h"
#include "heed/data/test_tokenizer.h"
#include "heed/io/test_files.h"
#include "heed/train/trainer.h"
#include "heed/train/translator_learner.h"

namespace heed::train {

// Sentences of letters, and the same letters backwards.
inline std::string letter_pairs(int64_t count, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    std::string source, target;
    for (uint64_t n = 3 + random.below(6); n > 0; --n) {
      const char letter = static_cast<char>('a' + random.below(20));
      source += {letter, ' '};
      target.insert(target.begin(), {letter, ' '});
    }
    source.pop_back(), target.pop_back();
    text.append(source).append("\t").append(target).append("\n");
  }
  return text;
}

inline TrainConfig tiny_config() {
  TrainConfig c;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.model.d_model = 16, c.model.d_ff = 32, c.model.heads = 2;
  c.model.norm_place = "post", c.model.activation = "relu", c.model.positions = "sinusoidal";
  c.model.dropout = 0.1, c.model.attention_dropout = 0.1, c.model.activation_dropout = 0.1;
  c.train.batch_tokens = 40;
  c.train.learning_rate = 0.01, c.train.schedule = "constant", c.train.warmup = 0;
  c.train.weight_decay = 0;
  c.train.precision = "f32";
  c.train.max_steps = 12;
  c.valid.every = 4, c.valid.metric = "loss", c.valid.max_sentences = 0;
  return c;
}

// Words of few letters with blanks and lines between them.
inline std::string letter_text(int64_t words, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    for (uint64_t n = 1 + random.below(5); n > 0; --n) text += static_cast<char>('a' + random.below(8));
    text += random.below(6) == 0 ? '\n' : ' ';
  }
  return text;
}

inline TrainConfig tiny_lm_config(const char* task = "lm") {
  TrainConfig c = default_config(task);
  c.text.tokenizer = "char";
  c.model.preset = "tiny";
  c.model.layers = 1, c.model.d_model = 16, c.model.heads = 2, c.model.context = 12, c.model.dropout = 0.1;
  c.train.batch_tokens = 40;
  c.train.learning_rate = 0.01, c.train.schedule = "constant", c.train.warmup = 0;
  c.train.weight_decay = 0.1;
  c.train.precision = "f32";
  c.train.max_steps = 12;
  c.valid.every = 4;
  return c;
}

// Patterns of 4 x 4 pixels and their labels, in the files that a config names.
inline void put_images(const std::string& images, const std::string& labels, int64_t count) {
  put_content(images, data::idx_images(data::patterns(count, 4)));
  put_content(labels, data::idx_labels(data::pattern_labels(count)));
}

// A small run of any task, from files in a folder.
inline TrainConfig tiny_run(const std::string& task, const TemporaryFolder& folder) {
  TrainConfig c = task == "translate" ? tiny_config() : tiny_lm_config(task.c_str());
  const std::string train = folder.file("train.data"), valid = folder.file("valid.data");
  const std::string train_labels = folder.file("train.labels"), valid_labels = folder.file("valid.labels");
  if (task == "lm") {
    c.data.text = {train}, c.data.valid_text = {valid};
    put_content(train, letter_text(120, 1));
    put_content(valid, letter_text(20, 2));
  } else if (task == "pixels") {
    c.data.images = {train}, c.data.valid_images = {valid};
    c.data.labels = {train_labels}, c.data.valid_labels = {valid_labels};
    c.data.levels = 4, c.valid.samples = 3;
    put_images(train, train_labels, 30);
    put_images(valid, valid_labels, 6);
  } else {
    c.text.tokenizer = "byte";
    c.data.tsv = {train}, c.data.valid_tsv = {valid};
    put_content(train, letter_pairs(40, 1));
    put_content(valid, letter_pairs(4, 2));
  }
  c.train.batch_tokens = 120, c.train.max_steps = 6, c.valid.every = 3;
  c.model.preset = "tiny";
  c.save.out = folder.file("model");
  return c;
}

// Keeps what a run tells.
struct Listener : Observer {
  void on_step(const StepReport& r) override {
    steps.push_back(r.step);
    batches = r.batches;
    if (r.step == breaks_at) throw std::runtime_error("broken off");
  }
  void on_validation(const ValidationReport& r) override { validations.push_back(r); }
  void on_message(const std::string& text) override { messages.push_back(text); }

  std::vector<int64_t> steps;
  int64_t batches = 0;  // of an epoch
  std::vector<ValidationReport> validations;
  std::vector<std::string> messages;
  int64_t breaks_at = -1;
};

// A corpus of 40 pairs and a place for models.
class TinyRun : public testing::Test {
 protected:
  void SetUp() override {
    data_.tokenizers = data::letter_tokenizers();
    data_.train = store("train", 40, 1);
    data_.valid = store("valid", 8, 2);
    data_.identity = "letters";
  }

  data::PairStore store(const std::string& name, int64_t count, uint64_t seed) {
    const std::string tsv = folder_.file(name + ".tsv"), path = folder_.file(name + ".pairs");
    put_content(tsv, letter_pairs(count, seed));
    data::CorpusConfig config;
    config.tsv = {tsv};
    data::ParallelCorpus corpus(config);
    data::build_store(path, corpus, data_.tokenizers, {});
    return data::PairStore::open(path);
  }

  RunFolder model(const std::string& name) {
    std::filesystem::create_directories(folder_.file(name + "/training"));
    return {folder_.file(name)};
  }

  Trainer trainer(const std::string& name = "model") {
    return Trainer(config_, std::make_unique<TranslatorLearner>(config_, data_), model(name), listener_);
  }

  static bool never() { return false; }
  // As should_stop(): after so many calls.
  static std::function<bool()> after(int64_t calls) {
    return [left = calls]() mutable { return left-- == 0; };
  }

  // The whole run, finished, in a folder of this name.
  RunState whole(const std::string& name) {
    Trainer run = trainer(name);
    run.run(never);
    run.finish();
    return run.state();
  }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_config();
  RunData data_;
  Listener listener_;
};

inline const models::EncoderDecoder& model_of(const Trainer& trainer) {
  return static_cast<const TranslatorLearner&>(trainer.learner()).model();
}

// All numbers of a run, as bytes.
inline std::string bits_of(const Trainer& trainer) {
  const RunArrays arrays = trainer.arrays();
  std::vector<const float*> all{arrays.weights};
  all.insert(all.end(), arrays.moments.begin(), arrays.moments.end());
  if (arrays.average) all.push_back(arrays.average);
  std::string bits;
  for (const float* array : all)
    bits.append(reinterpret_cast<const char*>(array), static_cast<size_t>(arrays.size) * sizeof(float));
  return bits;
}

// Two states apart from the time they took.
inline void expect_same_state(const RunState& a, const RunState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.skipped, b.skipped);
  EXPECT_EQ(a.bad_steps, b.bad_steps);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.best_step, b.best_step);
  EXPECT_EQ(a.validations_since_best, b.validations_since_best);
  EXPECT_EQ(a.validated_step, b.validated_step);
}

inline void expect_same_model(const RunFolder& a, const RunFolder& b) {
  for (const char* name : {"/model.safetensors", "/config.json"}) {
    const std::string left = content_of(a.model + name);
    EXPECT_FALSE(left.empty()) << name;
    EXPECT_TRUE(left == content_of(b.model + name)) << name << " differs";
  }
}

// The steps that a log tells of: {"loss", 3} for the line of step 3, {"valid_loss", 4} for its validation.
inline std::vector<std::pair<std::string, int64_t>> log_of(const RunFolder& folder) {
  std::vector<std::pair<std::string, int64_t>> all;
  std::istringstream lines(content_of(folder.model + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json parsed = nlohmann::json::parse(line);
    all.emplace_back(parsed.contains("loss") ? "loss" : "valid_loss", parsed["step"].get<int64_t>());
  }
  return all;
}

}  // namespace heed::train
