// A translator that goes on from another: one that was trained here, or Marian's.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "heed/models/directory.h"
#include "heed/tasks/translator.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

class TranslatorFrom : public testing::Test {
 protected:
  RunResult run(const RunOptions& options = {}) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  // What a run says of a config that goes on from `from`.
  TrainConfig next(const std::string& from) const {
    TrainConfig c = tiny_run("translate", folder_);
    c.model = {}, c.text = {};
    c.model.from = from;
    c.save.out = folder_.file("next");
    return c;
  }
  std::string refused(const TrainConfig& from, const std::function<void(TrainConfig&)>& change) {
    config_ = from;
    change(config_);
    return message_of<Error>([&] { run({.overwrite = true}); });
  }
  double best_loss() const {
    double best = INFINITY;
    for (const ValidationReport& r : listener_.validations) best = std::min(best, r.loss);
    return best;
  }

  const TemporaryFolder folder_;
  TrainConfig config_ = tiny_run("translate", folder_);
  Listener listener_;
};

TEST_F(TranslatorFrom, BeginsWhereTheOtherEnded) {
  config_.train.max_steps = 60, config_.valid.every = 30, config_.model.norm_place = "pre";
  run();
  const std::string first = config_.save.out, tokenizer = content_of(first + "/byte_tokenizer.json");
  const double before = best_loss();
  config_ = next(first);
  config_.train.learning_rate = 1e-9;
  EXPECT_EQ(run({.verify_resume = true}).state.step, 6);
  EXPECT_NEAR(listener_.validations.front().loss, before, 1e-4);
  EXPECT_EQ(content_of(config_.save.out + "/byte_tokenizer.json"), tokenizer);
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  // Its own copy of the config starts it again, with the shape and the dropouts that it took over.
  TrainConfig read;
  read_config_file(read, config_.save.out + "/train.toml");
  EXPECT_EQ(read.model.d_model, 16);
  EXPECT_EQ(read.model.dropout, 0.1);
  const std::string weights = content_of(config_.save.out + "/model.safetensors");
  config_ = read;
  config_.save.out = folder_.file("again");
  run();
  EXPECT_TRUE(content_of(config_.save.out + "/model.safetensors") == weights);
}

TEST_F(TranslatorFrom, WhatTheOtherHasIsNotSaid) {
  run();
  const TrainConfig good = next(config_.save.out);
  const auto refusal = [&](const std::function<void(TrainConfig&)>& change) { return refused(good, change); };
  EXPECT_NE(refusal([](auto& c) { c.model.encoder_layers = 7; }).find("model.encoder_layers is 7, and '"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.model.norm_place = "pre"; }).find("model.norm_place is said"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.text.tokenizer = "char"; }).find("text.tokenizer is said"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.text.vocabulary = 99; }).find("text.vocabulary is said"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.save.out = c.model.from; }).find("are both"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.model.from += "s"; }).find("is no folder, expected a model directory"),
            std::string::npos);
  // Bytes are not merged: there is nothing to cut in another way.
  const std::string variants = refusal([](auto& c) { c.text.variants = 2; });
  EXPECT_NE(variants.find("does not cut by merges"), std::string::npos) << variants;
  config_ = good;
  EXPECT_EQ(run().state.step, 6);
}

TEST_F(TranslatorFrom, LearnedPositionsEndWhereTheyEnded) {
  config_.model.positions = "learned", config_.data.max_length = 24;
  run();
  const TrainConfig good = next(config_.save.out);
  EXPECT_NE(refused(good, [](auto&) {}).find("data.max_length is 256, and '"), std::string::npos);
  config_ = good;
  config_.data.max_length = 20;
  EXPECT_EQ(run().state.step, 6);
  EXPECT_EQ(models::read_config(config_.save.out).trained_length, 24);
}

TEST_F(TranslatorFrom, ALanguageModelIsRefused) {
  config_ = tiny_run("lm", folder_);
  run();
  EXPECT_NE(refused(next(config_.save.out), [](auto&) {}).find("is no translator, expected one"), std::string::npos);
}

// What Marian has and heed's own do not: an encoder of another shape than the decoder, a bias of the output, two
// vocabularies. All of it is trained, and stays Marian's.
TEST_F(TranslatorFrom, APublishedModelIsTuned) {
  const fs::path golden = fs::path(HEED_SOURCE_DIR) / "tests" / "golden";
  const std::string marian = folder_.file("marian");
  fs::copy(golden / "marian" / "separate_swish", marian);
  for (const char* name : {"source.spm", "target.spm", "vocab.json", "target_vocab.json", "tokenizer_config.json"})
    fs::copy(golden / "tokenizers" / "word_separate" / name, marian);
  config_ = next(marian);
  config_.train.max_steps = 30, config_.train.learning_rate = 3e-3;
  config_.data.max_length = 40;  // further than the 32 of its config: its sines go on
  run();
  EXPECT_LT(listener_.validations.back().loss, 0.9 * listener_.validations.front().loss);
  const models::ParsedConfig parsed = models::read_parsed_config(config_.save.out);
  EXPECT_EQ(parsed.type, "marian");
  EXPECT_EQ(parsed.config.encoder.heads, 4);
  EXPECT_EQ(parsed.config.decoder.heads, 2);
  EXPECT_EQ(parsed.config.decoder.positions.max_length, 40);
  EXPECT_TRUE(parsed.config.decoder.positions.halves);
  EXPECT_TRUE(parsed.config.output_bias);
  EXPECT_EQ(parsed.config.tokens.start, models::read_config(marian).tokens.start);
  const tasks::Translator tuned = tasks::Translator::open(config_.save.out);
  EXPECT_EQ(tasks::translate({tuned.model, tuned.tokenizers}, {"a b"}, {}).size(), 1u);
  // A tokenizer that ends sentences by another id than the model does.
  nlohmann::json other = nlohmann::json::parse(content_of(marian + "/config.json"));
  other["eos_token_id"] = 1;
  fs::remove(marian + "/generation_config.json");
  put_content(marian + "/config.json", other.dump());
  EXPECT_NE(refused(next(marian), [](auto& c) { c.data.max_length = 32; }).find("ends a sentence by id 0, its model by 1"),
            std::string::npos);
}

}  // namespace
}  // namespace heed::train
