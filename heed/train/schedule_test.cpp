#include "heed/train/schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "heed/base/error.h"

namespace heed::train {
namespace {

TEST(Schedule, PaperNumbers) {
  const Schedule paper{.kind = ScheduleKind::kPaper, .d_model = 512, .warmup = 4000};
  EXPECT_NEAR(learning_rate(paper, 1), 1.746928e-7, 5e-14);
  EXPECT_NEAR(learning_rate(paper, 4000), 6.987712e-4, 5e-11);
  EXPECT_NEAR(learning_rate(paper, 8000), 4.941059e-4, 5e-11);
  for (int64_t step = 2; step <= 8000; ++step) {
    EXPECT_EQ(learning_rate(paper, step) > learning_rate(paper, step - 1), step <= 4000) << step;
  }
}

TEST(Schedule, PaperWithoutWarmupOnlyFalls) {
  const Schedule paper{.kind = ScheduleKind::kPaper, .d_model = 4, .warmup = 0};
  EXPECT_DOUBLE_EQ(learning_rate(paper, 1), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 4), 0.25);
}

TEST(Schedule, WarmupRisesInALineToThePeak) {
  for (const ScheduleKind kind : {ScheduleKind::kCosine, ScheduleKind::kLinear, ScheduleKind::kConstant}) {
    const Schedule s{.kind = kind, .peak = 0.8, .warmup = 4, .total_steps = 12, .minimum = 0.2};
    EXPECT_DOUBLE_EQ(learning_rate(s, 1), 0.2);
    EXPECT_DOUBLE_EQ(learning_rate(s, 2), 0.4);
    EXPECT_DOUBLE_EQ(learning_rate(s, 4), 0.8);
  }
}

TEST(Schedule, EachKindGoesItsOwnWayOn) {
  Schedule s{.kind = ScheduleKind::kLinear, .peak = 0.8, .warmup = 4, .total_steps = 12, .minimum = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate(s, 8), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 0.35);
  EXPECT_DOUBLE_EQ(learning_rate(s, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(s, 99), 0.2);
  s.kind = ScheduleKind::kCosine;
  EXPECT_NEAR(learning_rate(s, 6), 0.5 + 0.3 * 0.7071067811865476, 1e-15);
  EXPECT_DOUBLE_EQ(learning_rate(s, 8), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(s, 99), 0.2);
  s.kind = ScheduleKind::kConstant;
  EXPECT_DOUBLE_EQ(learning_rate(s, 99), 0.8);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  EXPECT_THROW(learning_rate({}, 0), Error);
  EXPECT_THROW(learning_rate({.warmup = -1}, 1), Error);
  EXPECT_THROW(learning_rate({.d_model = 0}, 1), Error);
  EXPECT_THROW(learning_rate({.kind = ScheduleKind::kCosine, .warmup = 10, .total_steps = 10}, 1), Error);
  EXPECT_THROW(learning_rate({.kind = ScheduleKind::kConstant, .peak = 1, .minimum = 2}, 1), Error);
}

TEST(Schedule, NamesComeBackAsKinds) {
  for (size_t i = 0; i < schedule_kinds().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(schedule_kind(schedule_kinds()[i])), i);
  }
  try {
    schedule_kind("cosin");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()), "[schedule] unknown kind 'cosin': did you mean 'cosine'?");
  }
}

}  // namespace
}  // namespace heed::train
