// Losses that are no numbers: what is skipped, what is named, what is kept.
#include <cmath>
#include <limits>

#include "heed/train/test_run.h"

namespace heed::train {
namespace {

using BadLossTest = TinyRun;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST_F(BadLossTest, ABadLossIsSkippedAndChangesNothing) {
  config_.train.average_decay = 0.9;
  Trainer run = trainer();
  run.step();
  const std::string before = bits_of(run);
  float& weight = run.arrays().weights[5];
  const float good = weight;
  weight = kNaN;
  run.step();
  weight = good;
  EXPECT_TRUE(bits_of(run) == before);
  EXPECT_EQ(run.state().step, 2);
  EXPECT_EQ(run.state().skipped, 1);
  ASSERT_EQ(listener_.messages.size(), 1u);
  // It names the batch by its text, and no norm of a gradient that was not computed.
  const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens, .seed = 1}, 0);
  const std::span<const uint32_t> batch = epoch.batch(1);
  const auto text = [](std::span<const int32_t> ids) { return data::LetterTokenizer().decode(ids); };
  EXPECT_EQ(
      listener_.messages[0],
      fmt::format("step 2, batch 2 of {} in epoch 1: the loss is nan; its {} sequences begin with '{}' = '{}': skipped",
                  epoch.size(), batch.size(), text(data_.train.source(batch[0])), text(data_.train.target(batch[0]))));
  run.step();  // and it goes on
  EXPECT_EQ(run.state().skipped, 1);
  EXPECT_FALSE(bits_of(run) == before);
}

TEST_F(BadLossTest, ABadLossStopsTheRunWhereToldAndTheCheckpointStays) {
  config_.train.bad_loss = "stop";
  config_.train.optimizer = "sgd", config_.train.learning_rate = 1e30, config_.train.clip = 0;
  config_.save.every = 1, config_.valid.every = 100;
  Trainer run = trainer();
  const std::string message = message_of<FileError>([&] { run.run(never); });  // status 1: nothing was asked wrongly
  EXPECT_TRUE(message.starts_with("[train] step ")) << message;
  EXPECT_NE(message.find("the last checkpoint is as it was"), std::string::npos) << message;
  const std::vector<CheckpointFile> saved = checkpoints_in(model("model").training());
  ASSERT_FALSE(saved.empty());
  EXPECT_EQ(saved.front().step, run.state().step - 1);
  Trainer again = trainer();
  EXPECT_TRUE(again.resume());
}

// The loss is a number, but of another batch of the step it is none: that one is named.
TEST_F(BadLossTest, TheBatchOfABadLossIsNamed) {
  config_.train.accumulate = 2;
  config_.model.share_embeddings = false;
  const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens, .seed = 1}, 0);
  // A letter that only the second batch reads.
  std::vector<int32_t> letters[2];
  for (const int64_t i : {0, 1}) {
    for (const uint32_t sentence : epoch.batch(i)) {
      for (const int32_t id : data_.train.source(sentence)) letters[i].push_back(id);
    }
  }
  std::erase_if(letters[1], [&](int32_t id) { return std::count(letters[0].begin(), letters[0].end(), id) > 0; });
  ASSERT_FALSE(letters[1].empty());
  Trainer run = trainer();
  const Tensor& table = model_of(run).source_embedding.table;
  table.data()[letters[1][0] * config_.model.d_model] = kNaN;
  run.step();
  ASSERT_EQ(listener_.messages.size(), 1u);
  EXPECT_TRUE(listener_.messages[0].starts_with("step 1, batch 2 of ")) << listener_.messages[0];
}

TEST_F(BadLossTest, TwentyBadLossesOnEndStopTheRun) {
  config_.train.max_steps = 200;
  Trainer run = trainer();
  run.arrays().weights[5] = kNaN;
  const std::string message = message_of([&] { run.run(never); });
  EXPECT_NE(message.find("no loss was a number in the last 20 steps"), std::string::npos) << message;
  EXPECT_EQ(run.state().step, 20);
}

// What is kept is from before it went astray, however often it saves and however few it keeps.
TEST_F(BadLossTest, ARunThatWentAstrayLeavesTheLastGoodCheckpoint) {
  config_.train.max_steps = 200, config_.save.every = 2, config_.save.keep = 1, config_.valid.every = 100;
  Trainer run = trainer();
  run.run(after(4));  // what a stop left is good, too
  const std::string good = bits_of(run);
  run.arrays().weights[5] = kNaN;
  EXPECT_NE(message_of([&] { run.run(never); }).find("in the last 20 steps"), std::string::npos);
  EXPECT_EQ(run.state().step, 24);
  Trainer again = trainer();
  ASSERT_TRUE(again.resume());
  EXPECT_EQ(again.state().step, 4);
  EXPECT_TRUE(bits_of(again) == good);
  again.run(after(3));
  EXPECT_EQ(again.state().step, 7);
  EXPECT_EQ(again.state().skipped, 0);
}

// Stopped while it is astray, it goes on to count, and what was good stays beside what the stop left.
TEST_F(BadLossTest, BadLossesAreCountedOnAfterAResume) {
  config_.train.max_steps = 200, config_.save.every = 2, config_.save.keep = 1, config_.valid.every = 100;
  Trainer run = trainer();
  run.run(after(5));
  run.arrays().weights[5] = kNaN;
  EXPECT_EQ(run.run(after(7)), Ended::kAsked);
  std::vector<int64_t> left;
  for (const CheckpointFile& file : checkpoints_in(model("model").training())) left.push_back(file.step);
  EXPECT_EQ(left, (std::vector<int64_t>{12, 5, 4}));
  Trainer again = trainer();
  ASSERT_TRUE(again.resume());
  EXPECT_EQ(again.state().bad_steps, 7);
  EXPECT_NE(message_of([&] { again.run(never); }).find("in the last 20 steps"), std::string::npos);
  EXPECT_EQ(again.state().step, 25);
}

// A BLEU of nearly nothing is noise: a model that cannot translate yet is judged by its loss, and nobody loses patience
// while that falls.
TEST_F(BadLossTest, WithoutATranslationTheLossDecides) {
  config_.valid.metric = "bleu", config_.valid.every = 1, config_.valid.patience = 1, config_.train.max_steps = 6;
  config_.train.learning_rate = 1e-3;
  Trainer run = trainer();
  EXPECT_EQ(run.run(never), Ended::kLimit);
  double lowest = INFINITY;
  for (const ValidationReport& r : listener_.validations) {
    ASSERT_LT(r.bleu, 1);
    EXPECT_EQ(r.best, r.loss < lowest) << r.step;
    lowest = std::min(lowest, r.loss);
  }
  EXPECT_GE(listener_.validations.size(), 6u);
}

TEST_F(BadLossTest, AValidationThatIsNoNumberIsNeverTheBest) {
  Trainer run = trainer();
  run.arrays().weights[5] = kNaN;
  EXPECT_EQ(run.run(never), Ended::kLimit);
  EXPECT_EQ(run.state().skipped, 12);
  EXPECT_EQ(run.state().best_step, -1);
  Trainer again = trainer();
  ASSERT_TRUE(again.resume());
  EXPECT_EQ(again.state().step, 12);
  EXPECT_EQ(again.state().validations_since_best, 3);
}

}  // namespace
}  // namespace heed::train
