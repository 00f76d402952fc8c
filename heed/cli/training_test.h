// Runs of every task, so small that one takes a tenth of a second, as processes that a test starts, kills and looks at.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <thread>

#include "heed/cli/program_test.h"
#include "heed/data/test_images.h"

namespace heed::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Of every task that trains.
class Training : public Program, public testing::WithParamInterface<const char*> {
 protected:
  bool text() const { return std::string(GetParam()) == "lm"; }
  bool images() const { return std::string(GetParam()) == "pixels"; }
  void SetUp() override {
    Program::SetUp();
    // Words in one order on one side, in the other on the other.
    std::mt19937 random(1);
    const char* words[] = {"ga", "na", "da", "ra", "ma", "ba", "sa", "ja", "cha", "ka", "ta", "pa", "ha"};
    for (const auto& [name, count] : {std::pair("train", 40), std::pair("valid", 5)}) {
      std::ofstream source(path(std::string(name) + ".src")), target(path(std::string(name) + ".tgt"));
      for (int i = 0; i < count; ++i) {
        std::string forward, backward;
        for (uint32_t n = 2 + random() % 6; n > 0; --n) {
          const std::string word = std::string(" ") + words[random() % 13];
          forward += word, backward.insert(0, word);
        }
        source << forward.substr(1) << "\n", target << backward.substr(1) << "\n";
      }
    }
    put_images("train", 40);
    put_images("valid", 5);
  }

  void put_images(const std::string& name, int64_t count) const {
    std::ofstream(path(name + ".images"), std::ios::binary) << data::idx_images(data::patterns(count, 4));
    std::ofstream(path(name + ".labels"), std::ios::binary) << data::idx_labels(data::pattern_labels(count));
  }

  // What all tasks are told of their model and their run.
  static std::vector<std::string> shape() {
    return {"--preset", "tiny", "--d-model",       "16",  "--d-ff",        "32", "--heads",      "2",
            "--warmup", "10",   "--average-decay", "0.9", "--valid-every", "15", "--save-every", "10"};
  }
  std::vector<std::string> data_and_model() const {
    if (text()) {
      return {"--text",         path("train.src"),
              "--valid-text",   path("valid.src"),
              "--documents",    "line",
              "--tokenizer",    "char",
              "--layers",       "1",
              "--context",      "16",
              "--batch-tokens", "60",
              "--schedule",     "sqrt",
              "--dropout",      "0.1"};
    }
    if (images()) {
      return {"--images",       path("train.images"),
              "--labels",       path("train.labels"),
              "--valid-images", path("valid.images"),
              "--valid-labels", path("valid.labels"),
              "--levels",       "4",
              "--layers",       "1",
              "--batch-tokens", "60",
              "--schedule",     "sqrt",
              "--dropout",      "0.1"};
    }
    std::vector<std::string> words = {"--tokenizer",      "word", "--vocabulary",   "60", "--encoder-layers", "1",
                                      "--decoder-layers", "1",    "--batch-tokens", "60", "--valid-metric",   "loss"};
    for (const char* side : {"src", "tgt"}) {
      for (const char* name : {"train", "valid"}) {
        words.push_back(std::string(name[0] == 't' ? "--" : "--valid-") + side);
        words.push_back(path(std::string(name) + "." + side));
      }
    }
    return words;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> command(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", GetParam(), "--out", path(model), "--quiet"};
    for (const std::vector<std::string>& part : {data_and_model(), shape()}) {
      words.insert(words.end(), part.begin(), part.end());
    }
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--max-steps") == more.end())
      words.insert(words.end(), {"--max-steps", "60"});
    return words;
  }

  // Starts the program and does not wait for it; `before` runs in the new process.
  pid_t start(std::vector<std::string> words, const std::function<void()>& before = {}) {
    words.insert(words.begin(), HEED_PROGRAM);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string err = path("err");
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing goes on when the test has ended
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
      ::dup2(::open("/dev/null", O_WRONLY), 1);
      ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), 2);
      if (before) before();
      ::execv(HEED_PROGRAM, argv.data());
      ::_exit(127);
    }
    return pid;
  }
  // Its exit status; -1 where a signal ended it.
  static int status_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int finish(const std::string& model, const std::vector<std::string>& more = {},
             const std::function<void()>& before = {}) {
    return status_of(start(command(model, more), before));
  }
  std::string err() const { return read_all(path("err")); }

  // A file that the run writes on its way.
  void wait_for(const std::string& name) const {
    for (const auto begun = Clock::now(); !fs::exists(path(name));) {
      ASSERT_LT(seconds_since(begun), 60) << name;
      sleep_for(0.001);
    }
  }

  void expect_same(const std::string& model, const std::string& other) const {
    const std::vector<std::string> tokenizer = text()     ? std::vector<std::string>{"char_tokenizer.json"}
                                               : images() ? std::vector<std::string>{"pixels.json", "samples.png"}
                                                          : std::vector<std::string>{"vocab.json", "source.spm"};
    std::vector<std::string> names = {"model.safetensors", "config.json"};
    names.insert(names.end(), tokenizer.begin(), tokenizer.end());
    for (const std::string& name : names) {
      const std::string content = read_all(folder_ / model / name);
      EXPECT_FALSE(content.empty()) << name;
      EXPECT_TRUE(content == read_all(folder_ / other / name)) << name << " of " << model;
    }
  }
  void expect_one_line(const std::string& part) const {
    const std::string text = err();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

}  // namespace heed::cli
