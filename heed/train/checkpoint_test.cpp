// Checkpoints come back to the bit, and nothing else is taken for one.
#include "heed/train/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "heed/base/random.h"
#include "heed/io/fingerprint.h"
#include "heed/io/test_files.h"

namespace heed::train {
namespace {

constexpr int64_t kSize = 37;

// Numbers of every kind: a checkpoint must not touch a bit of them.
struct Arrays {
  std::vector<std::vector<float>> all;
  bool with_average;

  explicit Arrays(bool average = true, uint64_t seed = 0) : with_average(average) {
    Random random(seed);
    for (int i = 0; i < 3 + average; ++i) {
      std::vector<float>& array = all.emplace_back();
      for (int64_t j = 0; j < kSize; ++j)
        array.push_back(seed == 0 ? -1.0f : static_cast<float>(random.below(1000)) / 7.0f);
    }
    if (seed == 0) return;
    all[0][0] = std::numeric_limits<float>::quiet_NaN(), all[0][1] = -0.0f, all[0][2] = INFINITY, all[0][3] = 1e-45f;
  }
  RunArrays view() {
    return {kSize, all[0].data(), {all[1].data(), all[2].data()}, with_average ? all[3].data() : nullptr};
  }
  bool same(const Arrays& other) const {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!std::ranges::equal(std::as_bytes(std::span(all[i])), std::as_bytes(std::span(other.all[i])))) return false;
    }
    return true;
  }
};

RunState some_state() {
  RunState s;
  s.step = 7, s.epoch = 2, s.batch = 5, s.tokens = int64_t{1} << 60, s.skipped = 3, s.bad_steps = 2;
  s.seconds = 0.1 + 0.2, s.metrics_bytes = 4711, s.best = -1.0 / 3, s.best_step = 6, s.validations_since_best = 1,
  s.validated_step = 4;
  s.best_due = -0.5, s.written_by = this_writer();
  return s;
}

class Checkpoint : public testing::Test {
 protected:
  // A file that is no good: refused with this in the message, and no number changed.
  void expect_refused(const std::string& content, const std::string& part, const std::string& identity = "me") {
    const std::string path = folder_.file("bad.safetensors");
    put_content(path, content);
    Arrays arrays;
    const std::string message = message_of([&] { read_checkpoint(path, arrays.view(), identity); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("bad.safetensors"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(arrays.same(Arrays()));
  }
  std::string good() {
    const std::string path = folder_.file("good.safetensors");
    Arrays arrays(true, 1);
    write_checkpoint(path, some_state(), arrays.view(), "me");
    return content_of(path);
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    EXPECT_EQ(from.size(), to.size());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  TemporaryFolder folder_;
};

TEST_F(Checkpoint, RoundTripsToTheBit) {
  for (const bool average : {false, true}) {
    const std::string path = folder_.file("a.safetensors");
    Arrays written(average, 1), read(average);
    write_checkpoint(path, some_state(), written.view(), "who\nam \"I\"");
    const RunState state = read_checkpoint(path, read.view(), "who\nam \"I\""), expected = some_state();
    EXPECT_TRUE(read.same(written));
    EXPECT_TRUE(state == expected);
    EXPECT_TRUE(state.written_by.starts_with("heed ")) << state.written_by;
  }
}

// Of a heed that did not write so much.
TEST_F(Checkpoint, EveryTruncationIsRefused) {
  const std::string whole = good();
  for (size_t n = 0; n < whole.size(); n += 1 + n % 5) expect_refused(whole.substr(0, n), "");
  expect_refused(whole.substr(0, whole.size() - 1), "");
  expect_refused(whole + "x", "");
}

TEST_F(Checkpoint, EveryFlippedBitOfItsNumbersIsRefused) {
  const std::string whole = good();
  const size_t numbers = 4 * kSize * sizeof(float);
  for (size_t i = whole.size() - numbers; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    expect_refused(damaged, "is damaged: its numbers do not give its fingerprint");
  }
}

TEST_F(Checkpoint, ADamagedStateIsRefused) {
  const std::string whole = good();
  expect_refused(replaced(whole, "\\\"batch\\\":5", "\\\"batch\\\":6"), "is damaged");
  expect_refused(replaced(whole, "\\\"batch\\\":5", "\\\"hatch\\\":5"), "'batch' of its state is missing or no number");
  expect_refused(replaced(whole, "\\\"step\\\":7,", "\\\"step\\\":-7"), "of its state is missing");
  expect_refused(replaced(whole, "\\\"skipped\\\":3", "\\\"skipped\\\":9"), "is damaged: its state says step 7");
  expect_refused(replaced(whole, "\\\"bad_steps\\\":2", "\\\"bad_steps\\\":4"), "3 skipped, 4 of them on end");
  expect_refused(replaced(whole, "\\\"seconds\\\":0.30000000000000004", "\\\"seconds\\\":null               "),
                 "'seconds'");
}

TEST_F(Checkpoint, OtherDataIsRefused) { expect_refused(good(), "is of other data", "someone else"); }

TEST_F(Checkpoint, ForeignFilesAreRefused) {
  expect_refused("", "");
  expect_refused("no safetensors at all, only a sentence of some length", "");
  const std::string path = folder_.file("model.safetensors");
  const std::vector<float> numbers(kSize);
  const std::vector<TensorToWrite> tensors{{"weights", StoredType::kF32, {kSize}, std::as_bytes(std::span(numbers))}};
  write_safetensors(path, tensors);
  expect_refused(content_of(path), "is no checkpoint of a run");
}

TEST_F(Checkpoint, AnotherModelIsRefused) {
  const std::string path = folder_.file("good.safetensors");
  put_content(path, good());
  Arrays arrays;
  RunArrays view = arrays.view();
  view.size = kSize - 1;
  EXPECT_NE(message_of([&] {
              read_checkpoint(path, view, "me");
            }).find("has 37 numbers, expected 36: it is of another model"),
            std::string::npos);
  view.size = kSize;
  view.moments.push_back(view.average);  // as if there were a third
  EXPECT_NE(message_of([&] { read_checkpoint(path, view, "me"); }).find("lacks 'moment3'"), std::string::npos);
  EXPECT_TRUE(arrays.same(Arrays()));
  EXPECT_NE(message_of([&] { read_checkpoint(folder_.file("none"), arrays.view(), "me"); }).find("none"),
            std::string::npos);
}

TEST_F(Checkpoint, SumsTheAverageWhereOneIsKept) {
  const std::string path = folder_.file("a.safetensors");
  for (const bool average : {false, true}) {
    Arrays arrays(average, 1);
    arrays.all[0][0] = arrays.all[0][2] = 2;
    write_checkpoint(path, some_state(), arrays.view(), "me");
    std::vector<double> sum(kSize, 10);
    add_checkpoint_weights(path, sum);
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], 10 + double{arrays.all[average ? 3 : 0][i]});
  }
  std::vector<double> sum(kSize);
  std::string damaged = content_of(path);
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  put_content(folder_.file("damaged"), damaged);
  EXPECT_NE(message_of([&] { add_checkpoint_weights(folder_.file("damaged"), sum); }).find("damaged' is damaged"),
            std::string::npos);
  std::vector<double> other(kSize + 1);
  EXPECT_NE(message_of([&] { add_checkpoint_weights(path, other); }).find("of another model"), std::string::npos);
}

TEST_F(Checkpoint, AFolderListsTheNewestFirst) {
  const std::string folder = folder_.file("training");
  EXPECT_TRUE(checkpoints_in(folder).empty());
  std::filesystem::create_directory(folder);
  using enum CheckpointKind;
  for (const char* name :
       {"checkpoint-.safetensors", "checkpoint-1x.safetensors", "checkpoint-5.safetensors.tmp", "verify.safetensors",
        ".heed-1-1.tmp", "train.pairs", "stopped-99999999999999999999.safetensors"}) {
    put_content(folder + "/" + name, "");
  }
  for (const auto& [step, kind] :
       {std::pair<int64_t, CheckpointKind>{9, kRegular}, {10, kRegular}, {10, kStopped}, {100, kRegular}}) {
    put_content(checkpoint_path(folder, step, kind), "");
  }
  std::vector<std::pair<int64_t, CheckpointKind>> found;
  for (const CheckpointFile& file : checkpoints_in(folder)) {
    found.emplace_back(file.step, file.kind);
    EXPECT_EQ(file.path, checkpoint_path(folder, file.step, file.kind));
  }
  EXPECT_EQ(found, (std::vector<std::pair<int64_t, CheckpointKind>>{
                       {100, kRegular}, {10, kStopped}, {10, kRegular}, {9, kRegular}}));
}

}  // namespace
}  // namespace heed::train
