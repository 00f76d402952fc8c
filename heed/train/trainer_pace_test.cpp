// When a run saves, validates and measures, with a learner that learns nothing and takes no time.
#include <algorithm>
#include <chrono>
#include <thread>

#include "heed/train/test_run.h"

namespace heed::train {
namespace {

// Epochs of so many batches, the last but one the largest.
class IdleLearner final : public Learner {
 public:
  explicit IdleLearner(int64_t batches) : batches_(batches) {
    parameters_.declare("weight", {1}, nn::Init::ones());
    parameters_.allocate(1);
  }
  const nn::Parameters& parameters() const override { return parameters_; }
  std::string identity() const override { return "idle"; }
  int64_t batches(int64_t) override { return batches_; }
  BatchSize size_of(int64_t batch) const override { return {1, batch == batches_ - 2 ? 9 : 3, 1}; }
  BatchLoss learn(int64_t batch, const LossArgs&, const nn::Context&, uint32_t) override {
    learned.push_back(batch);
    return {1, 1};
  }
  std::string begin_of(int64_t) const override { return ""; }
  int64_t usual_batches() const override { return batches_; }
  bool validates() const override { return true; }
  void measure(ValidationReport& report) override {
    std::this_thread::sleep_for(validation_time);
    report.loss = 1;
  }
  void publish(const std::string&) override {}

  std::vector<int64_t> learned;
  std::chrono::milliseconds validation_time{0};

 private:
  int64_t batches_;
  nn::Parameters parameters_;
};

struct Saves : Listener {
  void on_saved(int64_t step, const std::string& path) override {
    const bool regular = std::filesystem::path(path).filename().string().starts_with("checkpoint-");
    (regular ? saved : between).push_back(step);
  }
  std::vector<int64_t> validated() const {
    std::vector<int64_t> all;
    for (const ValidationReport& r : validations) all.push_back(r.step);
    return all;
  }
  std::vector<int64_t> saved, between;
};

class Pace : public testing::Test {
 protected:
  void run(int64_t batches, int64_t steps) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("training"));
    config_.train.max_steps = steps;
    seen_ = {};
    Trainer trainer(config_, std::make_unique<IdleLearner>(batches), {folder.file(".")}, seen_);
    EXPECT_EQ(trainer.run([] { return false; }), Ended::kLimit);
  }
  TrainConfig config_ = tiny_config();
  Saves seen_;
  using Steps = std::vector<int64_t>;
};

TEST_F(Pace, LargeDataIsValidatedAndSavedWithinAnEpoch) {
  config_.valid.every = config_.save.every = 0;
  run(7000, 11500);
  EXPECT_EQ(seen_.validated(), (Steps{5000, 7000, 10000, 11500}));
  EXPECT_EQ(seen_.saved, (Steps{5000, 7000, 10000}));
  EXPECT_EQ(seen_.between, (Steps{1000, 2000, 3000, 4000, 6000, 8000, 9000, 11000, 11500}));
}

TEST_F(Pace, AnEpochThatIsShortSetsThePace) {
  config_.valid.every = config_.save.every = 0;
  run(4000, 8100);
  EXPECT_EQ(seen_.validated(), (Steps{4000, 8000, 8100}));
  EXPECT_EQ(seen_.saved, (Steps{4000, 8000}));
  run(60, 500);  // of two each
  EXPECT_EQ(seen_.saved, (Steps{120, 240, 360, 480}));
  EXPECT_EQ(seen_.between, Steps{500});
}

TEST_F(Pace, StepsThatWereGivenAreTheSteps) {
  config_.valid.every = 3000, config_.save.every = 2500;
  run(7000, 7500);
  EXPECT_EQ(seen_.validated(), (Steps{3000, 6000, 7500}));
  EXPECT_EQ(seen_.saved, (Steps{2500, 5000, 7500}));
  EXPECT_EQ(seen_.between, Steps{7500});
}

// A step and the validation behind it are of one epoch, counted from 1.
TEST_F(Pace, EpochsAreCountedOneWay) {
  struct Epochs : Listener {
    void on_step(const StepReport& r) override { step = r.epoch, all.push_back(r.epoch); }
    void on_validation(const ValidationReport& r) override { EXPECT_EQ(r.epoch, step); }
    int64_t step = 0;
    std::vector<int64_t> all;
  } seen;
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("training"));
  config_.valid.every = 1, config_.train.max_steps = 7;
  Trainer trainer(config_, std::make_unique<IdleLearner>(3), {folder.file(".")}, seen);
  trainer.run([] { return false; });
  EXPECT_EQ(seen.all, (Steps{1, 1, 1, 2, 2, 2, 3}));
}

// Whoever waits for a run waits for its validations, too.
TEST_F(Pace, TimeIsThatOfValidationsToo) {
  struct Left : Listener {
    void on_step(const StepReport& r) override { left.push_back(r.seconds_left); }
    std::vector<double> left;
  };
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("training"));
  config_.valid.every = 2;
  const auto go_on = [&](int64_t steps, double seconds, Observer& observer) {
    config_.train.max_steps = steps, config_.train.max_minutes = seconds / 60;
    auto learner = std::make_unique<IdleLearner>(3);
    learner->validation_time = std::chrono::milliseconds(50);
    Trainer trainer(config_, std::move(learner), {folder.file(".")}, observer);
    trainer.resume();
    EXPECT_EQ(trainer.run([] { return false; }), Ended::kLimit);
    return trainer.state();
  };
  Left seen;
  EXPECT_GE(go_on(6, 0, seen).seconds, 0.15);
  ASSERT_EQ(seen.left.size(), 6u);
  EXPECT_GE(seen.left[2], 0.075);  // one was measured, and three steps are left
  // Minutes end it, with those of the part before.
  Observer silent;
  const RunState ended = go_on(1000, 0.4, silent);
  EXPECT_GE(ended.seconds, 0.4);
  EXPECT_LE(ended.step, 18);
}

TEST_F(Pace, TheLargestBatchIsMeasured) {
  const TemporaryFolder folder;
  auto learner = std::make_unique<IdleLearner>(5);
  const std::vector<int64_t>& learned = learner->learned;
  Trainer trainer(config_, std::move(learner), {folder.file(".")}, seen_);
  trainer.measure_speed();
  ASSERT_FALSE(learned.empty());
  EXPECT_EQ(learned.front(), 3);
}

}  // namespace
}  // namespace heed::train
