// The program as people and machines treat it while it trains: killed, interrupted, without room on the disk. Whatever
// happens, the model in the end is the one of a run that was left alone.
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <iostream>
#include <map>

#include "heed/cli/training_test.h"

namespace heed::cli {
namespace {

INSTANTIATE_TEST_SUITE_P(Tasks, Training, testing::Values("translate", "lm", "pixels"),
                         [](const auto& task) { return std::string(task.param); });

// What only translators do.
class TrainingOfTranslators : public Training {};
INSTANTIATE_TEST_SUITE_P(Tasks, TrainingOfTranslators, testing::Values("translate"));

TEST_P(Training, KilledAtAnyInstantItLosesNothing) {
  const char* asked = std::getenv("HEED_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 5;
  auto begun = Clock::now();
  ASSERT_EQ(finish("straight"), 0) << err();
  const double whole = seconds_since(begun);
  // The seed repeats the instants, as far as the machine is as fast.
  const char* given = std::getenv("HEED_KILL_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "HEED_KILL_SEED=" << seed << std::endl;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> instant(0, 1.05 * whole);
  int model = 0, killed = 0, resumes = 0;
  while (killed < kills) {
    const std::string name = "killed" + std::to_string(model);
    const pid_t pid = start(command(name, {"--resume"}));
    sleep_for(instant(random));
    ::kill(pid, SIGKILL);
    const int status = status_of(pid);
    ASSERT_TRUE(status == -1 || status == 0) << err();
    status == -1 ? ++killed : ++resumes;
    if (status == 0) {
      expect_same(name, "straight");
      ++model;
    }
  }
  const std::string name = "killed" + std::to_string(model);
  ASSERT_EQ(finish(name, {"--resume"}), 0) << err();
  expect_same(name, "straight");
  RecordProperty("killed", killed);
  RecordProperty("finished", resumes + 1);
}

TEST_P(Training, SignalsSaveAndTheRestIsTheSame) {
  ASSERT_EQ(finish("straight"), 0) << err();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const std::string name = "signal" + std::to_string(signal);
    std::vector<std::string> words = command(name);
    std::erase(words, "--quiet");
    const pid_t pid = start(words);
    wait_for(name + "/training/prepared");
    ::kill(pid, signal);
    EXPECT_EQ(status_of(pid), 1) << err();  // not done: what should follow must not
    EXPECT_NE(err().find("stopped and saved after step"), std::string::npos) << err();
    ASSERT_EQ(finish(name, {"--resume"}), 0) << err();
    expect_same(name, "straight");
  }
}

// `heed train ... 2>&1 | tee log`: Ctrl-C ends tee first, and nobody reads what heed says after that.
TEST_P(Training, WhoReadsTheMessagesMayGo) {
  ASSERT_EQ(finish("straight"), 0) << err();
  int messages[2];
  ASSERT_EQ(::pipe(messages), 0);
  std::vector<std::string> words = command("model");
  std::erase(words, "--quiet");
  const pid_t pid = start(words, [&] {
    ::dup2(messages[1], 2);
    ::close(messages[0]), ::close(messages[1]);
  });
  ::close(messages[0]), ::close(messages[1]);
  wait_for("model/training/prepared");
  ::kill(pid, SIGINT);
  EXPECT_EQ(status_of(pid), 1);
  ASSERT_EQ(finish("model", {"--resume"}), 0) << err();
  expect_same("model", "straight");
}

TEST_P(Training, ASignalThatWasIgnoredStaysSo) {
  const pid_t pid = start(command("model"), [] { std::signal(SIGHUP, SIG_IGN); });  // as nohup does
  wait_for("model/training/prepared");
  ::kill(pid, SIGHUP);
  EXPECT_EQ(status_of(pid), 0) << err();
}

TEST_P(Training, ItsOwnConfigGoesOnFromAnyFolder) {
  ASSERT_EQ(finish("straight"), 0) << err();
  ASSERT_EQ(finish("model", {"--max-steps", "20"}), 0) << err();
  fs::rename(path("model"), path("moved"));
  const auto elsewhere = [&] { ASSERT_EQ(::chdir("/"), 0); };
  ASSERT_EQ(
      status_of(start({"train", path("moved/train.toml"), "--resume", "--max-steps", "60", "--quiet"}, elsewhere)), 0)
      << err();
  EXPECT_FALSE(fs::exists(path("model")));
  expect_same("moved", "straight");
}

TEST_P(Training, TheModelAloneSaysWhatGoesOn) {
  ASSERT_EQ(finish("straight"), 0) << err();
  ASSERT_EQ(finish("model", {"--max-steps", "20"}), 0) << err();
  EXPECT_EQ(status_of(start({"train", GetParam(), "--out", path("model"), "--resume", "--quiet"})), 2);
  expect_one_line("no data is named: heed train " + path("model/train.toml") + " --resume goes on");
  ASSERT_EQ(status_of(start({"train", path("model"), "--resume", "--max-steps", "60", "--quiet"})), 0) << err();
  expect_same("model", "straight");
}

TEST_P(Training, ResumeAndOverwriteAreTwoWishes) {
  EXPECT_EQ(finish("model", {"--resume", "--overwrite"}), 2);
  expect_one_line("expected one of them");
}

TEST_P(Training, ASignalWhileItPreparesLeavesNothing) {
  for (const char* side : {"train.src", "train.tgt"}) {
    std::ofstream file(path(side));
    for (int i = 0; i < 300'000; ++i) file << "ga na da ra ma ba\n";
  }
  if (images()) put_images("train", 300'000);
  std::vector<std::string> words = command("new/model");
  std::erase(words, "--quiet");
  const pid_t pid = start(words);
  wait_for("new/model/training/lock");
  ::kill(pid, SIGINT);
  EXPECT_EQ(status_of(pid), 1);
  EXPECT_NE(err().find("heed: stopping as soon as all is saved; once more: at once\n"), std::string::npos) << err();
  EXPECT_NE(err().find("stopped before the training began: nothing was written"), std::string::npos) << err();
  EXPECT_FALSE(fs::exists(path("new")));
}

TEST_P(TrainingOfTranslators, AnInterruptedDemoLeavesNothing) {
  fs::create_directory(path("tmp"));
  const pid_t pid = start({"demo"}, [&] { ::setenv("TMPDIR", path("tmp").c_str(), 1); });
  for (const auto begun = Clock::now(); fs::is_empty(path("tmp"));) {
    ASSERT_LT(seconds_since(begun), 60);
    sleep_for(0.001);
  }
  ::kill(pid, SIGINT);
  EXPECT_EQ(status_of(pid), 1);
  EXPECT_NE(err().find("[demo] stopped: nothing was written"), std::string::npos) << err();
  EXPECT_TRUE(fs::is_empty(path("tmp")));
}

// Its sentences lie in MODEL before the first step, so that what a kill leaves behind goes on.
TEST_P(TrainingOfTranslators, AKilledDemoGoesOn) {
  if (!kTimed) GTEST_SKIP() << "its sentences take a minute";
  fs::create_directory(path("tmp"));
  pid_t pid = start({"demo", "--quiet", "--out", path("model")}, [&] { ::setenv("TMPDIR", path("tmp").c_str(), 1); });
  wait_for("model/metrics.jsonl");
  ::kill(pid, SIGKILL);
  EXPECT_EQ(status_of(pid), -1);
  fs::remove_all(path("tmp"));
  pid = start({"train", path("model/train.toml"), "--resume"});
  while (err().find("tok/s") == std::string::npos && ::waitpid(pid, nullptr, WNOHANG) == 0) sleep_for(0.01);
  ::kill(pid, SIGINT);
  EXPECT_EQ(status_of(pid), 1) << err();
  EXPECT_NE(err().find("no checkpoint was saved: the run begins again at step 0"), std::string::npos) << err();
  EXPECT_NE(err().find("stopped and saved after step"), std::string::npos) << err();
}

TEST_P(TrainingOfTranslators, WhatIsNoTextForATerminalIsEscaped) {
  std::ofstream(path("valid.src")) << "ga \x1b[31mna\nna\n";
  std::ofstream(path("valid.tgt")) << "na ga\nna\n";
  std::vector<std::string> words = command("model", {"--max-steps", "1"});
  std::erase(words, "--quiet");
  ASSERT_EQ(status_of(start(words)), 0) << err();
  EXPECT_NE(err().find("ga \\x1b[31mna"), std::string::npos) << err();
  EXPECT_EQ(err().find('\x1b'), std::string::npos);
}

TEST_P(Training, ItsLogBeginsWithTheVersion) {
  std::string version = run({"--version"}).out;
  ASSERT_EQ(version.back(), '\n');
  version.pop_back();
  std::vector<std::string> words = command("model", {"--max-steps", "1"});
  std::erase(words, "--quiet");
  for (const bool resume : {false, true}) {
    if (resume) words.emplace_back("--resume");
    ASSERT_EQ(status_of(start(words)), 0) << err();
    EXPECT_TRUE(err().starts_with(version + " on a CPU with")) << err();
  }
}

TEST_P(Training, TheBestIsAFigureThatIsNamed) {
  std::vector<std::string> words = command("model", {"--max-steps", "20", "--json"});
  const json found = json::parse(run(words).out);
  EXPECT_EQ(found["metric"], "loss");
  EXPECT_EQ(found["steps"], 20);
  double best = 1e9;
  std::istringstream log(read_all(path("model/metrics.jsonl")));
  for (std::string line; std::getline(log, line);) best = std::min(best, json::parse(line).value("valid_loss", best));
  EXPECT_EQ(found["best"].get<double>(), best);
}

TEST_P(Training, NoughtIsASeedAndAWarmUp) {
  std::vector<std::string> words = command("model", {"--max-steps", "1", "--seed", "0"});
  *(std::find(words.begin(), words.end(), "--warmup") + 1) = "0";
  ASSERT_EQ(status_of(start(words)), 0) << err();
  const std::string config = read_all(path("model/train.toml"));
  EXPECT_NE(config.find("\nseed = 0\n"), std::string::npos) << config;
  EXPECT_NE(config.find("\nwarmup = 0\n"), std::string::npos) << config;
}

TEST_P(Training, FurtherSignalsEndItAtOnceAndLoseNothing) {
  const pid_t pid = start(command("model", {"--max-steps", "1000000"}));
  wait_for("model/training/checkpoint-10.safetensors");
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) ::kill(pid, SIGINT), sleep_for(0.0005);
  ASSERT_TRUE(WIFEXITED(status));
  // 1: it was saved before the second came.
  EXPECT_TRUE(WEXITSTATUS(status) == 130 || WEXITSTATUS(status) == 1) << WEXITSTATUS(status) << err();
  // It goes on from the newest checkpoint, to the bits of a run that was left alone.
  int step = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "model/training")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) step = std::max(step, std::atoi(name.c_str() + name.find('-') + 1));
  }
  EXPECT_GE(step, 10);
  const std::vector<std::string> until = {"--max-steps", std::to_string(step + 5)};
  ASSERT_EQ(finish("straight", until), 0) << err();
  std::vector<std::string> words = command("model", until);
  std::erase(words, "--quiet");
  words.emplace_back("--resume");
  ASSERT_EQ(status_of(start(words)), 0) << err();
  EXPECT_NE(err().find("resumed after step " + std::to_string(step) + "\n"), std::string::npos) << err();
  expect_same("model", "straight");
}

TEST_P(Training, ASecondProcessIsRefused) {
  const pid_t pid = start(command("model", {"--max-steps", "1000000"}));
  wait_for("model/training/prepared");
  for (const char* flag : {"--resume", "--overwrite"}) {
    EXPECT_EQ(finish("model", {flag}), 1);
    expect_one_line("is in use by another process");
  }
  EXPECT_EQ(finish("model"), 2);
  expect_one_line("exists already");
  ::kill(pid, SIGTERM);
  EXPECT_EQ(status_of(pid), 1);
  EXPECT_EQ(finish("model", {"--resume", "--max-steps", "5"}), 0) << err();
}

TEST_P(Training, AFullDiskLosesNothing) {
  ASSERT_EQ(finish("straight"), 0) << err();
  ASSERT_EQ(finish("model", {"--max-steps", "20"}), 0) << err();
  std::map<std::string, std::string> saved;
  uintmax_t largest = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "model/training")) {
    saved[entry.path().string()] = read_all(entry.path());
    largest = std::max(largest, entry.file_size());
  }
  // Well below a checkpoint: its header's numbers may have a digit less next time.
  const auto limit = [&] {
    const rlimit most{largest / 4 * 3, largest / 4 * 3};
    ::setrlimit(RLIMIT_FSIZE, &most);
  };
  EXPECT_EQ(finish("model", {"--resume"}, limit), 1);
  expect_one_line("cannot write");
  int checkpoints = 0;
  for (const auto& [name, content] : saved) {
    EXPECT_TRUE(read_all(name) == content) << name;
    checkpoints += name.find("-20.safetensors") != std::string::npos;
  }
  EXPECT_GT(checkpoints, 0);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_ / "model/training")) ++files;
  EXPECT_EQ(files, saved.size());  // nothing half-written lies about
  // No room at all for a log, a tokenizer, anything.
  EXPECT_EQ(finish("nowhere", {},
                   [] {
                     const rlimit none{0, 0};
                     ::setrlimit(RLIMIT_FSIZE, &none);
                     ::signal(SIGXFSZ, SIG_DFL);
                   }),
            1);
  ASSERT_EQ(finish("model", {"--resume"}), 0) << err();
  expect_same("model", "straight");
}

TEST_P(Training, AReadOnlyFolderIsOneLine) {
  ASSERT_EQ(finish("model", {"--max-steps", "20"}), 0) << err();
  const std::string before = read_all(folder_ / "model/model.safetensors");
  ::chmod(path("model/training").c_str(), 0555);
  ::chmod(folder_.c_str(), 0555);
  // Nothing is read-only for root.
  const auto as_nobody = [] {
    if (::geteuid() != 0) return;
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(127);
    if (::access(HEED_PROGRAM, X_OK) != 0) ::_exit(126);
  };
  const int resumed = finish("model", {"--resume"}, as_nobody);
  const std::string first = err();
  const int fresh = finish("other", {}, as_nobody);
  const std::string second = err();
  ::chmod(folder_.c_str(), 0755);
  ::chmod(path("model/training").c_str(), 0755);
  if (resumed == 126 || resumed == 127) GTEST_SKIP() << "another user cannot run the program here";
  EXPECT_EQ(resumed, 1) << first;
  EXPECT_EQ(fresh, 1) << second;
  for (const std::string& line : {first, second}) {
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_NE(line.find("ermission denied"), std::string::npos) << line;
  }
  EXPECT_TRUE(read_all(folder_ / "model/model.safetensors") == before);
  EXPECT_EQ(finish("model", {"--resume"}), 0) << err();
}

TEST_P(Training, TheSameModelHoweverItRuns) {
  ASSERT_EQ(finish("straight", {"--threads", "1"}), 0) << err();
  ASSERT_EQ(finish("two", {"--threads", "2"}), 0) << err();
  expect_same("two", "straight");
  ASSERT_EQ(finish("nothing-saved", {"--resume"}), 0) << err();
  expect_same("nothing-saved", "straight");
  std::vector<std::string> words = command("verified", {"--verify-resume"});
  std::erase(words, "--quiet");
  ASSERT_EQ(status_of(start(words)), 0) << err();
  EXPECT_NE(err().find("resume verified: stopped after step "), std::string::npos) << err();
  expect_same("verified", "straight");
  ASSERT_EQ(status_of(start({"train", path("straight/train.toml"), "--quiet", "--set", "out=" + path("by-config")})), 0)
      << err();
  expect_same("by-config", "straight");
}

}  // namespace
}  // namespace heed::cli
