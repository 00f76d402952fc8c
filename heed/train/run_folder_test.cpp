// Who may write into a model directory, what is there already, and what makes a run another one.
#include "heed/train/run_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "heed/io/fingerprint.h"
#include "heed/io/mapped_file.h"
#include "heed/io/test_files.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

// Whether a process of its own gets the lock.
bool another_process_gets(const std::string& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const FolderLock lock(folder);
      ::_exit(0);
    } catch (const Error&) {
      ::_exit(7);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(FolderLock, OneProcessAtATime) {
  const TemporaryFolder folder;
  const std::string training = folder.file("model/training");
  {
    const FolderLock lock(training);
    EXPECT_FALSE(another_process_gets(training));
    EXPECT_EQ(message_of([&] { FolderLock second(training); }),
              fmt::format("[train] '{}' is in use by another process that trains", training));
  }
  EXPECT_TRUE(another_process_gets(training));
}

TEST(FolderLock, OnlyItsHolderTakesAwayWhatIsStaged) {
  const TemporaryFolder folder;
  const std::string training = folder.file("model/training"), staged = training + "/staged/train.pairs";
  {
    const FolderLock lock(training);
    fs::create_directories(training + "/staged");
    put_content(staged, "hours of work");
    message_of([&] { FolderLock second(training); });
    EXPECT_EQ(content_of(staged), "hours of work");
  }
  EXPECT_TRUE(fs::is_empty(training));
}

TEST(FolderLock, APlaceThatCannotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  put_content(folder.file("file"), "");
  EXPECT_NE(message_of([&] { FolderLock lock(folder.file("file/training")); }).find("file/training"),
            std::string::npos);
}

TEST(RunFolderTest, AnExistingModelIsRefused) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  for (const Existing existing : {Existing::kNothing, Existing::kStarted, Existing::kOverwrite})
    check_fresh(model, existing);
  EXPECT_FALSE(fs::exists(model));
  fs::create_directories(model);
  for (const Existing existing : {Existing::kNothing, Existing::kStarted, Existing::kOverwrite})
    check_fresh(model, existing);
  fs::create_directories(model + "/training/staged");
  check_fresh(model, Existing::kStarted);
  check_fresh(model, Existing::kOverwrite);
  EXPECT_NE(
      message_of<Error>([&] { check_fresh(model, Existing::kNothing); }).find("--resume goes on with it, --overwrite"),
      std::string::npos);
  put_content(model + "/notes.txt", "mine");
  put_content(model + "/config.json", R"({"model_type": "marian"})");
  EXPECT_NE(message_of<Error>([&] { check_fresh(model, Existing::kStarted); }).find("holds no run to go on with"),
            std::string::npos);
  EXPECT_NE(message_of<Error>([&] { check_fresh(model, Existing::kNothing); }).find("exists already"),
            std::string::npos);
  check_fresh(model, Existing::kOverwrite);
  EXPECT_NE(message_of([&] { check_fresh(model + "/notes.txt", Existing::kOverwrite); }).find("is a file"),
            std::string::npos);
}

TEST(RunFolderTest, AFolderThatIsNoModelIsNeverReplaced) {
  const TemporaryFolder folder;
  const std::string project = folder.file("project");
  fs::create_directories(project + "/training/mydata");
  const auto refused = [&] {
    for (const Existing existing : {Existing::kNothing, Existing::kStarted, Existing::kOverwrite}) {
      EXPECT_NE(message_of<Error>([&] { check_fresh(project, existing); }).find("is no model, and is not empty"),
                std::string::npos);
    }
  };
  refused();
  put_content(project + "/train.toml", "[train]\n");
  put_content(project + "/vocab.json", "{}");
  refused();
  for (const char* config :
       {"", "{", "[]", R"({"model_type": 3})", R"({"model_type": "bert"})", R"({"name": "heed"})"}) {
    put_content(project + "/config.json", config);
    refused();
  }
  // A run without a model so far.
  put_content(project + "/training/prepared", "");
  check_fresh(project, Existing::kOverwrite);
}

TEST(RunFolderTest, ClearingLeavesWhatIsNotHeedsAndTheLock) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  const FolderLock lock(model + "/training");
  fs::create_directories(model + "/training/tensorboard");
  for (const char* name :
       {"config.json", "model.safetensors", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
        ".heed-1.tmp", "train.toml", "metrics.jsonl", "training/train.pairs", "training/finished", "training/prepared",
        "training/checkpoint-4.safetensors", "notes.txt", "training/mine.txt"}) {
    put_content(model + "/" + name, "x");
  }
  TrainConfig config;
  config.save.out = model;
  clear_model(config);
  std::vector<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(model))
    left.push_back(fs::relative(entry.path(), model).string());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left,
            (std::vector<std::string>{"notes.txt", "train.toml", "training", "training/lock", "training/mine.txt"}));
  EXPECT_FALSE(another_process_gets(model + "/training"));
}

TEST(RunFolderTest, AChangedConfigIsNamed) {
  TrainConfig before = tiny_config(), now = before;
  check_same_run(before, now);
  now.train.max_steps = 99, now.train.max_epochs = 3, now.train.max_minutes = 5, now.valid.patience = 4,
  now.save.keep = 9;
  now.save.tensorboard = true, now.save.out = "elsewhere";
  check_same_run(before, now);
  now.train.learning_rate = 0.5, now.model.d_model = 32, now.data.src = {"other.en"};
  EXPECT_EQ(
      message_of<Error>([&] { check_same_run(before, now); }),
      "[train] the run that was saved is another one: data.src was [], is [other.en]; model.d_model was 16, is 32; "
      "train.learning_rate was 0.01, is 0.5");
}

TEST(RunFolderTest, StepsThatTheScheduleDependsOnStay) {
  TrainConfig before = tiny_config(), now = before;
  now.train.max_steps = 99;
  for (const auto& [schedule, may] : {std::pair("constant", true), std::pair("sqrt", true), std::pair("paper", true),
                                      std::pair("cosine", false), std::pair("linear", false)}) {
    before.train.schedule = now.train.schedule = schedule;
    const std::string message =
        may ? (check_same_run(before, now), "") : message_of<Error>([&] { check_same_run(before, now); });
    EXPECT_EQ(message.ends_with(fmt::format("train.max_steps was 12, is 99 (the {} schedule ends there)", schedule)),
              !may)
        << schedule;
  }
}

TEST(RunFolderTest, WhatIsAveragedIsSavedAsOften) {
  TrainConfig before = tiny_config(), now = before;
  now.save.every = 7;
  check_same_run(before, now);
  before.train.average_last = now.train.average_last = 2;
  EXPECT_EQ(message_of<Error>([&] { check_same_run(before, now); }),
            "[train] the run that was saved is another one: save.save_every was 0, is 7 (train.average_last takes the "
            "mean of what is saved)");
}

TEST(RunFolderTest, LargeFilesTellHowFarTheyAreReadAndMayBeLeft) {
  const TemporaryFolder folder;
  TrainConfig config;
  config.data.src = {folder.file("a")}, config.data.tgt = {folder.file("b")};
  const int64_t large = (int64_t{40} << 20) + 3;
  put_content(folder.file("a"), "some text");
  fs::resize_file(folder.file("a"), static_cast<uintmax_t>(large));
  put_content(folder.file("b"), std::string(size_t{10} << 20, 'b'));
  std::vector<double> shares;
  const std::string found = data_fingerprint(config, [&](double share) { shares.push_back(share); });
  EXPECT_NE(found.find(fmt::format("of {} bytes {:016x}\n", large, fingerprint(MappedFile(folder.file("a")).bytes()))),
            std::string::npos);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[0], 0.32, 1e-3);
  EXPECT_NEAR(shares[1], 0.64, 1e-3);
  struct Enough {};
  EXPECT_THROW(data_fingerprint(config, [](double) { throw Enough{}; }), Enough);
}

TEST(RunFolderTest, FilesThatChangedAreNamed) {
  const TemporaryFolder folder;
  TrainConfig config;
  config.data.src = {folder.file("a"), folder.file("b")}, config.data.tgt = {folder.file("c")};
  for (const char* name : {"a", "b", "c"}) put_content(folder.file(name), "0123456789");
  const std::string before = data_fingerprint(config);
  EXPECT_EQ(data_fingerprint(config), before);
  put_content(folder.file("b"), "0123456798");
  put_content(folder.file("c"), "0123");
  EXPECT_EQ(changed_files(before, data_fingerprint(config)),
            fmt::format("'{}' of 10 bytes, '{}' of 4 bytes", folder.file("b"), folder.file("c")));
  check_data_files(config);
  fs::remove(folder.file("b"));
  EXPECT_NE(message_of([&] { check_data_files(config); }).find(folder.file("b")), std::string::npos);
  EXPECT_NE(message_of([&] { data_fingerprint(config); }).find(folder.file("b")), std::string::npos);
}

}  // namespace
}  // namespace heed::train
