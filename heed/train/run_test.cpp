// Whole runs from files to a model directory.
#include "heed/train/run.h"

#include <filesystem>

#include "heed/train/run_folder.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.text.tokenizer = "byte", config_.text.vocabulary = 0;
    config_.data.tsv = {folder_.file("train.tsv")}, config_.data.valid_tsv = {folder_.file("valid.tsv")};
    config_.train.batch_tokens = 120, config_.train.max_steps = 6, config_.valid.every = 3;
    config_.model.preset = "tiny";
    config_.save.out = folder_.file("model");
    put_content(config_.data.tsv[0], letter_pairs(40, 1));
    put_content(config_.data.valid_tsv[0], letter_pairs(4, 2));
  }
  RunResult run(
      const RunOptions& options = {}, const std::function<bool()>& stop = [] { return false; }) {
    listener_ = {};
    return run_training(config_, options, listener_, stop);
  }
  std::string refused(const RunOptions& options = {}) {
    return message_of<Error>([&] { run(options); });
  }
  std::string weights() const { return content_of(config_.save.out + "/model.safetensors"); }

  TemporaryFolder folder_;
  TrainConfig config_ = tiny_config();
  Listener listener_;
};

TEST_F(RunTest, ItsConfigStartsTheSameRunAgain) {
  EXPECT_EQ(run().state.step, 6);
  const std::string first = weights();
  TrainConfig read;
  read_config_file(read, config_.save.out + "/train.toml");
  EXPECT_NE(refused().find("exists already"), std::string::npos);
  EXPECT_EQ(weights(), first);
  config_ = read;
  config_.save.out = folder_.file("again");
  run();
  EXPECT_TRUE(weights() == first);
  config_.train.seed = 2;
  run({.overwrite = true});
  EXPECT_FALSE(weights() == first);
}

TEST_F(RunTest, ResumesFromNothingFromAStopAndFromTheEnd) {
  run();
  const std::string straight = weights();
  config_.save.out = folder_.file("resumed");
  int64_t calls = 0;
  const RunResult stopped = run({.resume = true}, [&] { return ++calls > 4; });
  EXPECT_EQ(stopped.ended, Ended::kAsked);
  EXPECT_EQ(stopped.state.step, 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run({.resume = true}).ended, Ended::kLimit);
    EXPECT_TRUE(weights() == straight);
  }
}

TEST_F(RunTest, ResumeNamesWhatChanged) {
  run();
  TrainConfig before = config_;
  config_.train.seed = 5;
  EXPECT_NE(refused({.resume = true}).find("train.seed was 1, is 5"), std::string::npos);
  config_ = before;
  put_content(config_.data.valid_tsv[0], letter_pairs(5, 3));
  const std::string message = refused({.resume = true});
  EXPECT_NE(message.find("the data changed since the run was saved: '" + config_.data.valid_tsv[0] + "' of "),
            std::string::npos)
      << message;
}

TEST_F(RunTest, AFolderInUseIsNeitherOverwrittenNorResumed) {
  run();
  const std::string first = weights();
  const FolderLock lock(config_.save.out + "/training");
  EXPECT_NE(refused({.overwrite = true}).find("is in use by another process"), std::string::npos);
  EXPECT_NE(refused({.resume = true}).find("is in use by another process"), std::string::npos);
  EXPECT_EQ(weights(), first);
}

TEST_F(RunTest, AModelOfSomeoneElseIsNotResumed) {
  fs::create_directories(config_.save.out);
  put_content(config_.save.out + "/model.safetensors", "theirs");
  EXPECT_NE(refused({.resume = true}).find("holds no run to go on with"), std::string::npos);
  EXPECT_EQ(weights(), "theirs");
}

TEST_F(RunTest, AMissingFileLeavesNothingBehind) {
  config_.data.valid_tsv = {folder_.file("none.tsv")};
  EXPECT_NE(refused().find("none.tsv"), std::string::npos);
  EXPECT_FALSE(fs::exists(config_.save.out));
}

TEST_F(RunTest, VerifyingTheResumeSaysSoAndChangesNothing) {
  run();
  const std::string straight = weights();
  config_.save.out = folder_.file("verified");
  EXPECT_EQ(run({.verify_resume = true}).state.step, 6);
  EXPECT_TRUE(weights() == straight);
  bool said = false;
  for (const std::string& message : listener_.messages) {
    said = said || message.starts_with("resume verified: stopped after step 5, resumed, and at step 10 all ");
  }
  EXPECT_TRUE(said);
  EXPECT_EQ(listener_.steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(fs::exists(config_.save.out + "/training/verify.safetensors"));
}

TEST_F(RunTest, ADamagedCheckpointIsNamed) {
  run();
  const std::string path = checkpoints_in(config_.save.out + "/training").front().path;
  std::string content = content_of(path);
  content.back() = static_cast<char>(content.back() ^ 1);
  put_content(path, content);
  const std::string message = refused({.resume = true});
  EXPECT_NE(message.find("stopped-6.safetensors' is damaged"), std::string::npos) << message;
}

TEST_F(RunTest, EventFilesAreWrittenByChoice) {
  run();
  const std::string events = config_.save.out + "/training/tensorboard";
  EXPECT_FALSE(fs::exists(events));
  const std::string first = weights();
  config_.save.tensorboard = true;
  run({.overwrite = true});
  EXPECT_TRUE(weights() == first);
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(events)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    EXPECT_NE(content_of(entry.path().string()).find("valid/loss"), std::string::npos);
    ++files;
  }
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace heed::train
