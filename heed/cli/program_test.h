// Runs the built program as a person would; for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace heed::cli {

// Whether times mean anything: sanitizers and debug builds are many times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr bool kTimed = false;
#else
constexpr bool kTimed = true;
#endif

namespace fs = std::filesystem;
using nlohmann::json;

inline std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Outcome {
  int status;
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "heed-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "work");
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Standard output goes to `out_path` where given, such as /dev/full; standard input is empty.
  Outcome run(const std::vector<std::string>& arguments, const std::string& out_path = "") {
    return run_between(arguments, "/dev/null", out_path);
  }
  Outcome run_with(const std::string& input, const std::vector<std::string>& arguments) {
    const std::string in = (folder_ / "in").string();
    std::ofstream(in, std::ios::binary) << input;
    return run_between(arguments, in, "");
  }
  // A file of the test's own, outside of the folder that the program runs in.
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  Outcome run_between(const std::vector<std::string>& arguments, const std::string& in, const std::string& out_path) {
    const std::string out = out_path.empty() ? (folder_ / "out").string() : out_path, err = (folder_ / "err").string();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addchdir_np(&actions, (folder_ / "work").c_str());
    std::vector<std::string> words = {HEED_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv(words.size() + 1);  // ends with a null
    std::transform(words.begin(), words.end(), argv.begin(), [](std::string& word) { return word.data(); });
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, HEED_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out_path.empty() ? read_all(out) : "", read_all(err)};
  }

  json run_json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
    return json::parse(outcome.out);
  }

  // One line that says so, nothing else, and nothing in the folder.
  void expect_refused(const std::vector<std::string>& arguments, int status, const std::string& part) {
    const Outcome outcome = run(arguments);
    const std::string asked = testing::PrintToString(arguments);
    EXPECT_EQ(outcome.status, status) << asked << outcome.err;
    EXPECT_EQ(outcome.out, "") << asked;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << asked << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << asked << "\n  found: " << outcome.err << "  expected: " << part;
    EXPECT_TRUE(fs::is_empty(folder_ / "work")) << asked;
  }

  fs::path folder_;
};

// Every kind, in the ways people ask for it.
inline const std::vector<std::vector<std::string>> kShows = {
    {"show", "attention"},
    {"show", "attention", "--heads", "2", "--mask", "causal", "--labels", "나는 밥을 먹었다"},
    {"show", "positions", "--length", "10", "--dim", "8"},
    {"show", "positions", "--length", "20", "--dim", "7", "--shift", "3"},
    {"show", "positions", "--length", "200", "--dim", "300"},
    {"show", "positions", "--kind", "learned"},
    {"show", "positions", "--kind", "rotary"},
    {"show", "positions", "--kind", "alibi", "--heads", "12"},
    {"show", "positions", "--kind", "t5", "--length", "40"},
    {"show", "positions", "--kind", "none"},
    {"show", "positions", "--length", "1", "--dim", "1"},
    {"show", "schedule", "--d-model", "512", "--warmup", "4000"},
    {"show", "schedule", "--kind", "cosine", "--steps", "10000"},
    {"show", "schedule", "--kind", "linear", "--warmup", "0", "--steps", "1"},
    {"show", "schedule", "--kind", "constant", "--peak", "0.1"},
    {"show", "heads", "--d-model", "512", "--heads", "8"},
    {"show", "heads", "--d-model", "4096", "--heads", "64"},
    {"show", "mask"},
    {"show", "mask", "--length", "6", "--lengths", "6,4,1"},
    {"show", "shapes", "--d-model", "200", "--heads", "5", "--batch", "128", "--length", "32"},
    {"show", "softmax", "2.0", "1.0", "0.1"},
    {"show", "softmax", "-1e30", "1e30", "--temperature", "0.5"},
    {"show", "loss"},
    {"show", "loss", "0.7", "0.2", "--smoothing", "0", "--padding", "3"},
    {"show", "adam"},
    {"show", "adam", "--gradients", "1 -1 0.5", "--weight-decay", "0.01"},
    {"show", "params", "--preset", "base"},
    {"show", "params", "--d-model", "16", "--heads", "4", "--layers", "2", "--d-ff", "32"},
};

}  // namespace heed::cli
