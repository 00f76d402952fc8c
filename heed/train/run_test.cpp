// Whole runs from files to a model directory.
#include "heed/train/run.h"

#include <algorithm>
#include <filesystem>

#include "heed/train/run_folder.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

// Of every task: what a run is made of is the same.
class RunTest : public testing::TestWithParam<const char*> {
 protected:
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
  TrainConfig config_ = tiny_run(GetParam(), folder_);
  Listener listener_;
};
INSTANTIATE_TEST_SUITE_P(Tasks, RunTest, testing::Values("translate", "lm", "pixels"),
                         [](const auto& task) { return std::string(task.param); });

TEST_P(RunTest, ItsConfigStartsTheSameRunAgain) {
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

TEST_P(RunTest, ResumesFromNothingFromAStopAndFromTheEnd) {
  run();
  const std::string straight = weights();
  config_.save.out = folder_.file("resumed");
  const RunResult stopped = run({.resume = true}, [&] { return listener_.steps.size() == 4; });
  EXPECT_EQ(stopped.ended, Ended::kAsked);
  EXPECT_EQ(stopped.state.step, 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run({.resume = true}).ended, Ended::kLimit);
    EXPECT_TRUE(weights() == straight);
  }
}

TEST_P(RunTest, ResumingRemovesWhatAKilledSaveLeft) {
  run({}, [&] { return listener_.steps.size() == 4; });
  const std::string left[] = {config_.save.out + "/.heed-1-0.tmp", config_.save.out + "/training/.heed-1-1.tmp"};
  for (const std::string& path : left) put_content(path, "half a checkpoint");
  put_content(config_.save.out + "/notes.tmp", "mine");
  run({.resume = true});
  for (const std::string& path : left) EXPECT_FALSE(fs::exists(path)) << path;
  EXPECT_EQ(content_of(config_.save.out + "/notes.tmp"), "mine");
}

TEST_P(RunTest, ResumeNamesWhatChanged) {
  run();
  TrainConfig before = config_;
  config_.train.seed = 5;
  EXPECT_NE(refused({.resume = true}).find("train.seed was 1, is 5"), std::string::npos);
  config_ = before;
  const std::string valid = folder_.file("valid.data");
  put_content(valid, letter_pairs(5, 3));
  const std::string message = message_of<FileError>([&] { run({.resume = true}); });
  EXPECT_NE(message.find("the data changed since the run was saved: '" + valid + "' of "), std::string::npos)
      << message;
}

TEST_P(RunTest, AFolderInUseIsNeitherOverwrittenNorResumed) {
  run();
  const std::string first = weights();
  const FolderLock lock(config_.save.out + "/training");
  fs::create_directories(staging_of(config_.save.out));
  put_content(staging_of(config_.save.out) + "/train.pairs", "theirs");
  EXPECT_NE(refused({.overwrite = true}).find("is in use by another process"), std::string::npos);
  EXPECT_NE(refused({.resume = true}).find("is in use by another process"), std::string::npos);
  EXPECT_EQ(weights(), first);
  EXPECT_EQ(content_of(staging_of(config_.save.out) + "/train.pairs"), "theirs");
}

TEST_P(RunTest, WhatCannotBeTrainedReplacesNothing) {
  run();
  const std::string first = weights();
  const auto refuse = [&](const std::string& part, const std::function<void(TrainConfig::Run&)>& change) {
    const TrainConfig before = config_;
    change(config_.train);
    const std::string message = refused({.overwrite = true});
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(weights(), first) << part;
    config_ = before;
  };
  refuse("expected AdamW", [](TrainConfig::Run& t) { t.optimizer = "adam", t.weight_decay = 0.01; });
  refuse("train.schedule 'cosine' ends at train.max_steps, which is 0",
         [](TrainConfig::Run& t) { t.schedule = "cosine", t.max_steps = 0, t.max_epochs = 3; });
  refuse("train.warmup is 6 and train.max_steps 6: train.schedule 'linear' expects fewer",
         [](TrainConfig::Run& t) { t.schedule = "linear", t.warmup = 6; });
  refuse("minimum <= peak", [](TrainConfig::Run& t) { t.minimum_rate = 0.5; });
  EXPECT_FALSE(fs::exists(staging_of(config_.save.out)));
}

TEST_P(RunTest, AskedToStopWhileItPreparesItLeavesWhatWasThere) {
  const auto at_once = [] { return true; };
  RunResult stopped = run({}, at_once);
  EXPECT_EQ(stopped.ended, Ended::kAsked);
  EXPECT_FALSE(stopped.prepared);
  EXPECT_FALSE(fs::exists(config_.save.out));
  run();
  const std::string first = weights();
  for (const int64_t after : {0, 1, 2}) {
    int64_t calls = 0;
    stopped = run({.overwrite = true}, [&] { return calls++ == after; });
    EXPECT_FALSE(stopped.prepared);
    EXPECT_EQ(weights(), first);
    EXPECT_FALSE(fs::exists(staging_of(config_.save.out)));
  }
  EXPECT_EQ(run({.resume = true}).state.step, 6);
}

// Before a line of it is read.
TEST_P(RunTest, AskedToStopWhileLargeDataIsCheckedItLeavesNothing) {
  fs::resize_file(folder_.file("valid.data"), uintmax_t{40} << 20);
  std::vector<std::string> told;
  struct Told : Observer {
    std::vector<std::string>& to;
    explicit Told(std::vector<std::string>& t) : to(t) {}
    void on_progress(const std::string& stage, double /*share*/) override { to.push_back(stage); }
  } observer(told);
  const RunResult stopped = run_training(config_, {}, observer, [&] { return told.size() == 1; });
  EXPECT_FALSE(stopped.prepared);
  EXPECT_EQ(told, std::vector<std::string>{"checking the data"});
  EXPECT_FALSE(fs::exists(config_.save.out));
}

TEST_P(RunTest, AskedToStopWhileItVerifiesItSavesAndEnds) {
  int64_t calls = 0;
  const RunResult stopped = run({.verify_resume = true}, [&] { return ++calls > 6; });
  EXPECT_EQ(stopped.ended, Ended::kAsked);
  EXPECT_TRUE(stopped.prepared);
  EXPECT_EQ(stopped.state.step, 0);
  EXPECT_FALSE(fs::exists(config_.save.out + "/training/verify.safetensors"));
  EXPECT_EQ(run({.resume = true}).state.step, 6);
}

TEST_P(RunTest, WhatIsLeftOutIsNamed) {
  if (config_.task != "translate") GTEST_SKIP() << "the lines of pairs";
  put_content(folder_.file("train.data"), letter_pairs(20, 1) + std::string(99, 'x') + "\ty\n" + letter_pairs(20, 2));
  config_.data.max_length = 50;
  run();
  EXPECT_EQ(std::count(listener_.messages.begin(), listener_.messages.end(),
                       "1 longer than 50 tokens (" + folder_.file("train.data") + ":21): left out"),
            1)
      << testing::PrintToString(listener_.messages);
  config_.text.tokenizer = "word", config_.text.vocabulary = 10;
  run({.overwrite = true});
  EXPECT_TRUE(std::any_of(listener_.messages.begin(), listener_.messages.end(), [](const std::string& message) {
    return message.ends_with(" % of the tokens are unknown");
  })) << testing::PrintToString(listener_.messages);
}

TEST_P(RunTest, TheForecastIsOfWhatIsLeft) {
  std::vector<Forecast> all;
  const auto forecast = [&](int64_t steps, int64_t epochs, const RunOptions& options) {
    config_.train.max_steps = steps, config_.train.max_epochs = epochs;
    run_training(
        config_, options, listener_, [] { return false; },
        [&](const TrainConfig&, const Forecast& f) { all.push_back(f); });
    return all.back().seconds;
  };
  EXPECT_GT(forecast(6, 0, {}), 0);
  EXPECT_EQ(forecast(6, 0, {.resume = true}), 0);
  EXPECT_EQ(forecast(0, 1, {.resume = true}), 0);
  EXPECT_GT(forecast(7, 0, {.resume = true}), 0);
  // The memory of a step, also where none was done so far.
  EXPECT_GT(all[3].memory_bytes, all[3].parameters * 16);
}

TEST_P(RunTest, AModelOfSomeoneElseIsNotResumed) {
  fs::create_directories(config_.save.out);
  put_content(config_.save.out + "/config.json", R"({"model_type": "marian"})");
  put_content(config_.save.out + "/model.safetensors", "theirs");
  EXPECT_NE(refused({.resume = true}).find("holds no run to go on with"), std::string::npos);
  EXPECT_EQ(weights(), "theirs");
}

// Its checkpoints are gone: it is not trained from the first step over the finished one.
TEST_P(RunTest, AFinishedModelIsNotBegunAgain) {
  run();
  const std::string finished = weights();
  for (const CheckpointFile& file : checkpoints_in(config_.save.out + "/training")) fs::remove(file.path);
  config_.train.max_steps = 2;
  EXPECT_NE(refused({.resume = true}).find("nothing to go on from: --overwrite without --resume"), std::string::npos);
  EXPECT_TRUE(weights() == finished);
  run({.overwrite = true});
  EXPECT_FALSE(weights() == finished);
}

// Killed when the first model was there and nothing was saved.
TEST_P(RunTest, WithoutACheckpointItBeginsAgainAndSaysSo) {
  run();
  const std::string straight = weights();
  config_.save.out = folder_.file("killed");
  listener_ = {};
  listener_.breaks_at = 5;
  EXPECT_THROW(run_training(config_, {}, listener_, [] { return false; }), std::runtime_error);
  for (const CheckpointFile& file : checkpoints_in(config_.save.out + "/training")) fs::remove(file.path);
  EXPECT_FALSE(weights().empty());
  EXPECT_EQ(run({.resume = true}).ended, Ended::kLimit);
  const std::vector<std::string>& said = listener_.messages;
  EXPECT_EQ(std::count(said.begin(), said.end(), "no checkpoint was saved: the run begins again at step 0"), 1);
  EXPECT_EQ(listener_.steps.front(), 1);
  EXPECT_TRUE(weights() == straight);
}

TEST_P(RunTest, WhatWasChosenIsStored) {
  run();
  TrainConfig stored;
  read_config_file(stored, config_.save.out + "/train.toml");
  EXPECT_EQ(config_.train.activation_checkpointing, "auto");
  EXPECT_EQ(stored.train.activation_checkpointing, "off");
  EXPECT_NE(stored.train.precision, "auto");
}

TEST_P(RunTest, AMissingFileLeavesNothingBehind) {
  fs::remove(folder_.file("valid.data"));
  EXPECT_NE(refused().find("valid.data"), std::string::npos);
  EXPECT_FALSE(fs::exists(config_.save.out));
}

TEST_P(RunTest, VerifyingTheResumeSaysSoAndChangesNothing) {
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

TEST_P(RunTest, ADamagedCheckpointIsNamed) {
  run();
  const std::string straight = weights();
  const auto damage = [](const std::string& path) {
    std::string content = content_of(path);
    content.back() = static_cast<char>(content.back() ^ 1);
    put_content(path, content);
  };
  const std::string training = config_.save.out + "/training";
  damage(checkpoints_in(training).front().path);
  run({.resume = true});
  EXPECT_NE(testing::PrintToString(listener_.messages).find("stopped-6.safetensors' is damaged"), std::string::npos);
  EXPECT_TRUE(weights() == straight);
  for (const CheckpointFile& file : checkpoints_in(training)) damage(file.path);
  const std::string message = refused({.resume = true});
  EXPECT_NE(message.find("stopped-6.safetensors' is damaged"), std::string::npos) << message;
}

// From before the first step: what it came with may go at any time.
TEST_P(RunTest, DataMayBeKeptWithTheModel) {
  run();
  const std::string straight = weights();
  config_.save.out = folder_.file("kept");
  for (const bool overwrite : {false, true}) {
    run({.overwrite = overwrite, .keep_data = true}, [&] { return listener_.steps.size() == 4; });
    TrainConfig kept;
    read_config_file(kept, config_.save.out + "/train.toml");
    EXPECT_EQ(content_of(prepared_mark(config_.save.out)), data_fingerprint(kept));
  }
  for (const char* name : {"train.data", "valid.data", "train.labels", "valid.labels"}) fs::remove(folder_.file(name));
  config_ = {};
  read_config_file(config_, folder_.file("kept") + "/train.toml");
  EXPECT_EQ(run({.resume = true}).state.step, 6);
  EXPECT_TRUE(weights() == straight);
  EXPECT_EQ(run({.overwrite = true}).state.step, 6);  // from what lies in the folder itself
  EXPECT_TRUE(weights() == straight);
}

TEST_P(RunTest, EventFilesAreWrittenByChoice) {
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
