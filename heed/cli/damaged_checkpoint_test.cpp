// A checkpoint that a disk or a copy damaged, as who goes on from it meets it: one line, and the one before it.
#include <map>

#include "heed/cli/training_test.h"

namespace heed::cli {
namespace {

class DamagedCheckpoint : public Training {
 protected:
  using Damage = std::function<std::string(std::string)>;

  void damage(const std::string& model, const std::string& file, const Damage& how) const {
    const fs::path at = folder_ / model / "training" / file;
    const std::string bytes = how(read_all(at));
    std::ofstream(at, std::ios::binary) << bytes;
  }
  std::string line_with(const std::string& part) const {
    std::istringstream lines(err());
    for (std::string line; std::getline(lines, line);) {
      if (line.find(part) != std::string::npos) return line;
    }
    return "";
  }

  const std::map<std::string, Damage> ways_ = {
      {"cut in half", [](const std::string& bytes) { return bytes.substr(0, bytes.size() / 2); }},
      {"cut by a byte", [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 1); }},
      {"empty", [](const std::string&) { return std::string(); }},
      {"a bit of its numbers", [](std::string bytes) { return bytes[bytes.size() / 2] ^= 4, bytes; }},
      {"a bit of its length", [](std::string bytes) { return bytes[5] ^= 1, bytes; }},
      {"a bit of its state", [](std::string bytes) { return bytes[bytes.find("epoch")] ^= 1, bytes; }}};
};

INSTANTIATE_TEST_SUITE_P(Tasks, DamagedCheckpoint, testing::Values("translate", "lm", "pixels"),
                         [](const auto& task) { return std::string(task.param); });

TEST_P(DamagedCheckpoint, TheOneBeforeItIsGoneOnFromAndNamed) {
  ASSERT_EQ(finish("straight"), 0) << err();
  ASSERT_EQ(finish("saved", {"--max-steps", "45"}), 0) << err();
  for (const auto& [name, how] : ways_) {
    SCOPED_TRACE(name);
    fs::remove_all(path("model"));
    fs::copy(path("saved"), path("model"), fs::copy_options::recursive);
    damage("model", "stopped-45.safetensors", how);
    std::vector<std::string> words = command("model", {"--resume"});
    std::erase(words, "--quiet");
    ASSERT_EQ(status_of(start(words)), 0) << err();
    const std::string told = line_with("stopped-45.safetensors");
    EXPECT_TRUE(told.starts_with("heed: [")) << err();
    EXPECT_TRUE(told.ends_with(": going on from '" + path("model/training/checkpoint-40.safetensors") + "'")) << told;
    EXPECT_NE(line_with("resumed after step 40"), "") << err();
    expect_same("model", "straight");
  }
}

TEST_P(DamagedCheckpoint, WhereNoneIsWholeNothingIsReplaced) {
  ASSERT_EQ(finish("model", {"--max-steps", "45"}), 0) << err();
  const std::string model = read_all(folder_ / "model/model.safetensors");
  for (const char* file : {"stopped-45.safetensors", "checkpoint-40.safetensors", "checkpoint-30.safetensors"})
    damage("model", file, ways_.at("a bit of its numbers"));
  EXPECT_EQ(finish("model", {"--resume"}), 1);
  expect_one_line("stopped-45.safetensors' is damaged: its numbers do not give its fingerprint");
  EXPECT_TRUE(read_all(folder_ / "model/model.safetensors") == model);
  EXPECT_TRUE(fs::exists(path("model/training/checkpoint-40.safetensors")));
}

}  // namespace
}  // namespace heed::cli
