// What a run checks before it trusts its own files.
#include <filesystem>

#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

class RunChecks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    // More steps than two halves of a verification, so that only a longer one reaches the next epoch.
    config_.train.batch_tokens = config_.task == "translate" ? 60 : 36;
    if (config_.task == "lm") put_content(folder_.file("train.data"), letter_text(160, 1));
    if (config_.task == "translate") put_content(folder_.file("train.data"), letter_pairs(60, 1));
  }
  RunResult run(const RunOptions& options) {
    listener_ = {};
    return run_training(config_, options, listener_, [] { return false; });
  }
  std::string in_training(const std::string& name) const { return config_.save.out + "/training/" + name; }
  bool said(const std::string& start, const std::string& end) const {
    for (const std::string& message : listener_.messages) {
      if (message.starts_with(start) && message.ends_with(end)) return true;
    }
    return false;
  }

  std::string store(const char* name) const {
    return name + std::string(config_.task == "translate" ? ".pairs" : ".ids");
  }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_run(GetParam(), folder_);
  Listener listener_;
};
INSTANTIATE_TEST_SUITE_P(Tasks, RunChecks, testing::Values("translate", "lm", "pixels"),
                         [](const auto& task) { return std::string(task.param); });

TEST_P(RunChecks, ADamagedStoreIsRefusedAndCanBeMadeAgain) {
  run({});
  for (const std::string& name : {store("train"), store("valid")}) {
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

TEST_P(RunChecks, VerifyingTheResumeCrossesTheEndOfASmallEpoch) {
  run({.verify_resume = true});
  EXPECT_GT(listener_.batches, 10);  // ten steps alone would not reach it
  EXPECT_TRUE(said("resume verified: stopped after step ", " numbers are the same bits, across the end of an epoch"))
      << testing::PrintToString(listener_.messages);
}

TEST_P(RunChecks, VerifyingLeavesNothingBehindWhenItFails) {
  config_.train.optimizer = "sgd", config_.train.learning_rate = 1000, config_.train.clip = 0;
  config_.train.bad_loss = "stop";
  EXPECT_NE(message_of([&] { run({.verify_resume = true}); }).find("the loss is"), std::string::npos);
  EXPECT_TRUE(fs::exists(in_training(store("train"))));
  EXPECT_FALSE(fs::exists(in_training("verify.safetensors")));
}

}  // namespace
}  // namespace heed::train
