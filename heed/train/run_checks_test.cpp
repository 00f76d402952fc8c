// What a run checks before it trusts its own files.
#include <filesystem>

#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

class RunChecks : public testing::Test {
 protected:
  void SetUp() override {
    config_.text.tokenizer = "byte", config_.text.vocabulary = 0;
    config_.data.tsv = {folder_.file("train.tsv")}, config_.data.valid_tsv = {folder_.file("valid.tsv")};
    config_.train.batch_tokens = 60, config_.train.max_steps = 6, config_.valid.every = 3;
    config_.model.preset = "tiny";
    config_.save.out = folder_.file("model");
    put_content(config_.data.tsv[0], letter_pairs(60, 1));
    put_content(config_.data.valid_tsv[0], letter_pairs(4, 2));
  }
  RunResult run(const RunOptions& options) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  std::string in_training(const char* name) const { return config_.save.out + "/training/" + name; }
  bool said(const std::string& start, const std::string& end) const {
    for (const std::string& message : listener_.messages) {
      if (message.starts_with(start) && message.ends_with(end)) return true;
    }
    return false;
  }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_config();
  Listener listener_;
};

TEST_F(RunChecks, ADamagedStoreIsRefusedAndCanBeMadeAgain) {
  run({});
  for (const char* name : {"train.pairs", "valid.pairs"}) {
    const std::string path = in_training(name), whole = content_of(path);
    std::string damaged = whole;
    damaged[100] = static_cast<char>(damaged[100] ^ 1);  // another id
    put_content(path, damaged);
    const std::string message = message_of([&] { run({.resume = true}); });
    EXPECT_TRUE(message.starts_with("[store] '" + path + "' is damaged: ")) << message;
    fs::remove(in_training("prepared"));
    EXPECT_EQ(run({.resume = true}).state.step, 6);
    EXPECT_TRUE(content_of(path) == whole) << name;
  }
}

TEST_F(RunChecks, VerifyingTheResumeCrossesTheEndOfASmallEpoch) {
  run({.verify_resume = true});
  EXPECT_GT(listener_.batches, 10);  // ten steps alone would not reach it
  EXPECT_TRUE(said("resume verified: stopped after step ", " numbers are the same bits, across the end of an epoch"))
      << testing::PrintToString(listener_.messages);
}

TEST_F(RunChecks, VerifyingLeavesNothingBehindWhenItFails) {
  config_.train.optimizer = "sgd", config_.train.learning_rate = 1000, config_.train.clip = 0;
  config_.train.bad_loss = "stop";
  EXPECT_NE(message_of([&] { run({.verify_resume = true}); }).find("the loss is"), std::string::npos);
  EXPECT_TRUE(fs::exists(in_training("train.pairs")));
  EXPECT_FALSE(fs::exists(in_training("verify.safetensors")));
}

}  // namespace
}  // namespace heed::train
