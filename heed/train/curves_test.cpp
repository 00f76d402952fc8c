// The picture of a run: bounded, and the same whether the run was stopped or not.
#include "heed/train/curves.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"
#include "heed/train/metrics_log.h"

namespace heed::train {
namespace {

TEST(Curves, FewPointsStayAsTheyAre) {
  CurvePoints points;
  for (int i = 0; i < 700; ++i) points.add(i, -2 * i);
  const std::vector<Point> means = points.means();
  ASSERT_EQ(means.size(), 700u);
  for (size_t i = 0; i < means.size(); ++i) {
    EXPECT_EQ(means[i].x, static_cast<double>(i));
    EXPECT_EQ(means[i].y, -2 * static_cast<double>(i));
  }
}

TEST(Curves, ManyPointsAreMeansOfNeighbours) {
  CurvePoints points;
  for (int i = 0; i < 1'000'000; ++i) {
    points.add(i, i % 2);
    if (i % 9973 == 0) {
      ASSERT_LE(points.means().size(), 800u);
    }
  }
  const std::vector<Point> means = points.means();
  EXPECT_GE(means.size(), 400u);
  for (size_t i = 0; i + 1 < means.size(); ++i) {
    EXPECT_NEAR(means[i].y, 0.5, 1e-9);
    EXPECT_LT(means[i].x, means[i + 1].x);
  }
  EXPECT_LT(means.front().x, 2500);
  EXPECT_GT(means.back().x, 997'000);
}

TEST(Curves, LinesThatSaySomethingElseAreLeftOut) {
  Curves curves;
  for (const char* line : {"{\"step\":\"x\",\"loss\":1}", "[1]", "{\"loss\":1}", "{\"step\":1,\"loss\":null}"}) {
    curves.add(nlohmann::json::parse(line));
  }
  EXPECT_EQ(curves.svg().find("<polyline"), std::string::npos);
  curves.add(nlohmann::json{{"step", 1}, {"loss", 2.0}, {"bleu", 3}});
  const std::string svg = curves.svg();
  EXPECT_NE(svg.find("loss by token"), std::string::npos);
  EXPECT_NE(svg.find("BLEU"), std::string::npos);
  EXPECT_EQ(svg.find("learning rate"), std::string::npos);
}

StepReport report_of(int64_t step) {
  StepReport r;
  r.step = step, r.loss = 5.0 / static_cast<double>(step), r.perplexity = 2, r.learning_rate = 0.001;
  return r;
}

TEST(Curves, AResumedLogGivesTheSamePicture) {
  const TemporaryFolder folder;
  MetricsLog whole(folder.file(""));
  whole.open_at(0);
  int64_t middle = 0;
  for (int64_t step = 1; step <= 3000; ++step) {
    whole.add(report_of(step));
    if (step == 1700) middle = whole.bytes();
  }
  whole.draw_curves();
  const std::string expected = content_of(folder.file("curves.svg"));
  EXPECT_GT(std::count(expected.begin(), expected.end(), ','), 700);
  MetricsLog resumed(folder.file(""));
  resumed.open_at(middle);
  for (int64_t step = 1701; step <= 3000; ++step) resumed.add(report_of(step));
  resumed.draw_curves();
  EXPECT_TRUE(content_of(folder.file("curves.svg")) == expected);
  // With nothing new there is nothing to draw.
  put_content(folder.file("curves.svg"), "mine");
  resumed.draw_curves();
  EXPECT_EQ(content_of(folder.file("curves.svg")), "mine");
}

}  // namespace
}  // namespace heed::train
