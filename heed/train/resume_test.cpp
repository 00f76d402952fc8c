// A run that was stopped and resumed ends in the same bits as one that never was.
#include <limits>

#include "heed/train/test_run.h"

namespace heed::train {
namespace {

using ResumeTest = TinyRun;

// Steps up to `end`; step 6 meets a weight that is no number, and is skipped.
void advance(Trainer& run, int64_t end) {
  while (run.state().step < end) {
    float& weight = run.arrays().weights[7];
    const float good = weight;
    const bool poke = run.state().step == 5;
    if (poke) weight = std::numeric_limits<float>::quiet_NaN();
    run.step();
    if (poke) weight = good;
  }
}

TEST_F(ResumeTest, AtEveryStepGivesTheSameBits) {
  constexpr int64_t kSteps = 14;
  for (const char* optimizer : {"adam", "sgd"}) {
    config_.train.optimizer = optimizer;
    config_.train.average_decay = 0.8, config_.train.accumulate = 2;
    Trainer straight = trainer();
    std::vector<std::string> saved;
    for (int64_t step = 0; step < kSteps; ++step) {
      advance(straight, step);
      saved.push_back(folder_.file(std::to_string(step) + ".safetensors"));
      straight.write_checkpoint_to(saved.back());
    }
    advance(straight, kSteps);
    EXPECT_EQ(straight.state().skipped, 1);
    EXPECT_GE(straight.state().epoch, 2);
    for (const std::string& path : saved) {
      Trainer resumed = trainer("resumed");
      resumed.resume_from(path);
      advance(resumed, kSteps);
      EXPECT_TRUE(bits_of(resumed) == bits_of(straight)) << optimizer << " from " << path;
      expect_same_state(resumed.state(), straight.state());
    }
  }
}

TEST_F(ResumeTest, StoppedAfterAnyStepTheModelIsTheSame) {
  config_.train.average_decay = 0.8, config_.save.every = 3;
  const RunState end = whole("straight");
  const auto log = log_of(model("straight"));
  for (int64_t stop = 0; stop <= end.step; ++stop) {
    const std::string name = "stopped" + std::to_string(stop);
    Trainer first = trainer(name);
    // At the end there is nothing left to stop.
    EXPECT_EQ(first.run(after(stop)), stop < end.step ? Ended::kAsked : Ended::kLimit);
    EXPECT_EQ(first.state().step, stop);
    Trainer second = trainer(name);
    ASSERT_TRUE(second.resume());
    EXPECT_EQ(second.run(never), Ended::kLimit);
    second.finish();
    expect_same_state(second.state(), end);
    expect_same_model(model(name), model("straight"));
    EXPECT_EQ(log_of(model(name)), log);
  }
}

TEST_F(ResumeTest, SavingMoreOrLessOftenChangesNoBit) {
  config_.save.every = 3;
  const RunState end = whole("straight");
  for (const int64_t every : {1, 5, 0}) {
    const std::string name = "every" + std::to_string(every);
    config_.save.every = 3;
    trainer(name).run(after(4));
    config_.save.every = every;
    Trainer second = trainer(name);
    ASSERT_TRUE(second.resume());
    second.run(never);
    second.finish();
    expect_same_state(second.state(), end);
    expect_same_model(model(name), model("straight"));
  }
}

TEST_F(ResumeTest, BrokenOffAfterAnyStepTheModelAndTheLogAreTheSame) {
  config_.train.average_last = 2, config_.save.every = 3;
  config_.valid.every = 0;  // once an epoch
  const RunState end = whole("straight");
  const auto log = log_of(model("straight"));
  for (int64_t step = 1; step <= end.step; ++step) {
    const std::string name = "broken" + std::to_string(step);
    listener_.breaks_at = step;
    {
      Trainer first = trainer(name);
      EXPECT_THROW(first.run(never), std::runtime_error);
    }
    listener_.breaks_at = -1;
    Trainer second = trainer(name);
    EXPECT_EQ(second.resume(), step > 3);  // with nothing saved it begins at the beginning
    second.run(never);
    second.finish();
    expect_same_state(second.state(), end);
    expect_same_model(model(name), model("straight"));
    EXPECT_EQ(log_of(model(name)), log) << name;
  }
}

TEST_F(ResumeTest, AFinishedRunStaysFinished) {
  config_.valid.every = 0;
  const RunState end = whole("model");
  const std::string log = content_of(model("model").model + "/metrics.jsonl");
  const size_t validations = listener_.validations.size();
  // Also from the regular checkpoint of the last step, as if the last one had not been written.
  for (const bool lose_the_last : {false, true}) {
    const std::string last = checkpoint_path(model("model").training(), end.step, CheckpointKind::kStopped);
    if (lose_the_last) {
      Trainer run = trainer();
      run.resume();
      run.write_checkpoint_to(checkpoint_path(model("model").training(), end.step, CheckpointKind::kRegular));
      std::filesystem::remove(last);
    }
    Trainer again = trainer();
    ASSERT_TRUE(again.resume());
    EXPECT_EQ(again.run(never), Ended::kLimit);
    again.finish();
    expect_same_state(again.state(), end);
  }
  EXPECT_EQ(content_of(model("model").model + "/metrics.jsonl"), log);
  EXPECT_EQ(listener_.validations.size(), validations);
}

TEST_F(ResumeTest, MoreStepsGoOnFromTheEnd) {
  config_.train.max_steps = 8;
  whole("model");
  config_.train.max_steps = 12;
  Trainer more = trainer();
  ASSERT_TRUE(more.resume());
  EXPECT_EQ(more.state().step, 8);
  more.run(never);
  more.finish();
  whole("straight");
  expect_same_model(model("model"), model("straight"));
}

// The validation at a limit that is no multiple of valid.every is not one that patience counts.
TEST_F(ResumeTest, ALimitThatWasRaisedLeavesPatienceAsItWas) {
  config_.train.learning_rate = 0;  // nothing gets better
  config_.valid.patience = 2, config_.train.max_steps = 100;
  Trainer straight = trainer("straight");
  EXPECT_EQ(straight.run(never), Ended::kPatience);
  EXPECT_EQ(straight.state().step, 12);
  for (const int64_t limit : {3, 6, 10}) {
    const std::string name = "limit" + std::to_string(limit);
    config_.train.max_steps = limit;
    EXPECT_EQ(whole(name).validated_step, limit);
    config_.train.max_steps = 100;
    Trainer more = trainer(name);
    ASSERT_TRUE(more.resume());
    EXPECT_EQ(more.run(never), Ended::kPatience);
    EXPECT_EQ(more.state().step, 12) << limit;
  }
}

// Nor does a good value there make those that follow look bad.
TEST_F(ResumeTest, PatienceComparesWithValidationsThatWereDue) {
  config_.valid.patience = 3, config_.train.max_steps = 20, config_.train.learning_rate = 0.3;
  config_.valid.every = 2;
  const RunState end = whole("straight");
  for (const int64_t limit : {1, 5, 9}) {
    const std::string name = "limit" + std::to_string(limit);
    config_.train.max_steps = limit;
    whole(name);
    config_.train.max_steps = 20;
    Trainer more = trainer(name);
    ASSERT_TRUE(more.resume());
    more.run(never);
    EXPECT_EQ(more.state().step, end.step) << limit;
    EXPECT_EQ(more.state().validations_since_best, end.validations_since_best) << limit;
    EXPECT_GE(more.state().best, end.best) << limit;
  }
}

TEST_F(ResumeTest, ADamagedCheckpointIsPassedOver) {
  config_.save.every = 3;
  whole("straight");
  Trainer first = trainer();
  EXPECT_EQ(first.run(after(8)), Ended::kAsked);
  const std::string newest = checkpoint_path(model("model").training(), 8, CheckpointKind::kStopped);
  std::string content = content_of(newest);
  content.back() = static_cast<char>(content.back() ^ 1);
  put_content(newest, content);
  listener_.messages.clear();
  Trainer second = trainer();
  ASSERT_TRUE(second.resume());
  EXPECT_EQ(second.state().step, 6);
  ASSERT_EQ(listener_.messages.size(), 1u);
  EXPECT_NE(listener_.messages[0].find("stopped-8.safetensors' is damaged"), std::string::npos);
  EXPECT_NE(listener_.messages[0].find("going on from"), std::string::npos);
  second.run(never);
  second.finish();
  expect_same_model(model("model"), model("straight"));
  EXPECT_EQ(log_of(model("model")), log_of(model("straight")));
  // With none that is whole there is nothing to go on from.
  for (const CheckpointFile& file : checkpoints_in(model("model").training())) put_content(file.path, "damaged");
  EXPECT_NE(message_of([&] { trainer().resume(); }).find("stopped-12.safetensors"), std::string::npos);
}

TEST_F(ResumeTest, ABatchBehindItsEpochIsRefused) {
  Trainer run = trainer();
  run.step();
  const std::string path = folder_.file("far.safetensors");
  RunState state = run.state();
  const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens, .seed = 1}, 0);
  for (const int64_t batch : {epoch.size() - 1, epoch.size(), std::numeric_limits<int64_t>::max()}) {
    state.batch = batch;
    write_checkpoint(path, state, run.arrays(), "letters");
    Trainer resumed = trainer("resumed");
    if (batch < epoch.size()) {
      resumed.resume_from(path);
      resumed.step();
      EXPECT_EQ(resumed.state().epoch, 1);
      continue;
    }
    EXPECT_NE(message_of([&] { resumed.resume_from(path); }).find("far.safetensors': its next batch is "),
              std::string::npos);
  }
}

TEST_F(ResumeTest, AnotherHeedOrCpuIsTold) {
  whole("model");
  listener_.messages.clear();
  EXPECT_TRUE(trainer().resume());
  EXPECT_TRUE(listener_.messages.empty());
  const std::string path = checkpoints_in(model("model").training()).front().path;
  std::string content = content_of(path);
  const std::string writer = this_writer();
  content.replace(content.find(writer), writer.size(), std::string(writer.size(), '9'));
  put_content(path, content);
  EXPECT_TRUE(trainer().resume());
  ASSERT_EQ(listener_.messages.size(), 1u);
  EXPECT_TRUE(listener_.messages[0].starts_with("the run was saved by 999")) << listener_.messages[0];
  EXPECT_NE(listener_.messages[0].find("goes on with " + writer + ": its bits may differ"), std::string::npos);
}

TEST_F(ResumeTest, NothingSavedIsNoResume) { EXPECT_FALSE(trainer().resume()); }

TEST_F(ResumeTest, OtherDataAndAnotherShapeAreRefused) {
  whole("model");
  data_.identity = "other";
  EXPECT_NE(message_of([&] { trainer().resume(); }).find("is of other data"), std::string::npos);
  data_.identity = "letters";
  config_.model.d_ff = 48;
  EXPECT_NE(message_of([&] { trainer().resume(); }).find("it is of another model"), std::string::npos);
}

TEST_F(ResumeTest, KeepsAsManyCheckpointsAsTold) {
  config_.save.every = 1;
  for (const int64_t keep : {1, 3}) {
    config_.save.keep = keep;
    const std::string name = "keep" + std::to_string(keep);
    whole(name);
    int64_t regular = 0;
    for (const CheckpointFile& file : checkpoints_in(model(name).training())) {
      regular += file.kind == CheckpointKind::kRegular;
      EXPECT_GT(file.step, 12 - keep);
    }
    EXPECT_EQ(regular, keep);
  }
}

}  // namespace
}  // namespace heed::train
