#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"
#include "heed/train/schedule.h"

namespace heed::cli {
namespace {

using Words = std::vector<std::string>;

constexpr int64_t kMostSteps = int64_t{1} << 40, kPoints = 400;

class ScheduleShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_whole(&app, "--d-model", schedule_.d_model, {1, 1 << 20}, "size of the model, of paper; 512 without it");
    add_whole(&app, "--warmup", schedule_.warmup, {0, kMostSteps}, "steps of warm-up; 4000 without it");
    add_choice(&app, "--kind", kind_, train::schedule_kinds(), "paper without it");
    add_whole(&app, "--steps", steps_, {1, kMostSteps}, "steps in all; five times the warm-up without it");
    add_number(&app, "--peak", schedule_.peak, {1e-12, 1e6}, "highest rate of all kinds but paper; 0.001 without it");
    add_number(&app, "--minimum", schedule_.minimum, {0, 1e6}, "lowest rate of cosine, linear and sqrt; 0 without it");
  }

  void compute(const Common&) override {
    schedule_.kind = train::schedule_kind(kind_);
    const bool paper = schedule_.kind == train::ScheduleKind::kPaper;
    expect_absent(app_, paper ? Words{"--peak", "--minimum"} : Words{"--d-model"}, "--kind " + kind_);
    if (schedule_.kind == train::ScheduleKind::kConstant) expect_absent(app_, {"--minimum"}, "--kind constant");
    if (steps_ == 0) steps_ = std::max<int64_t>(5 * schedule_.warmup, 100);
    schedule_.total_steps = steps_;
    train::learning_rate(schedule_, 1);  // says what does not fit together before anything is shown
    const int64_t count = std::min(kPoints, steps_);
    for (int64_t i = 0; i < count; ++i) {
      add_point(count == 1 ? 1
                           : 1 + static_cast<int64_t>(static_cast<double>(steps_ - 1) * static_cast<double>(i) /
                                                      static_cast<double>(count - 1)));
      // The corner of the curve is drawn whatever the spacing.
      const int64_t here = curve_steps_.back(), w = schedule_.warmup;
      if (i + 1 < count && here < w && here + (steps_ - 1) / (count - 1) + 1 > w && w <= steps_) add_point(w);
    }
    std::set<int64_t> steps = {1, steps_};
    for (const int64_t step : {schedule_.warmup, 2 * schedule_.warmup}) {
      if (step >= 1) steps.insert(step);
    }
    special_.assign(steps.begin(), steps.end());
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, fmt::format("Learning rate: {}", kind_), formula()) + "\n";
    Curve curve;
    curve.x.assign(curve_steps_.begin(), curve_steps_.end());
    curve.y = rates_;
    curve.x_name = "step";
    curve.y_name = "rate";
    out += curve_text(curve, style) + "\n";
    return out + table_text(table(), style);
  }

  Json json() const override {
    Json values = Json::array(), curve = Json::array();
    for (const int64_t step : special_) {
      values.push_back({{"step", step}, {"learning_rate", train::learning_rate(schedule_, step)}});
    }
    for (size_t i = 0; i < rates_.size(); ++i) curve.push_back({curve_steps_[i], rates_[i]});
    Json out = {{"show", "schedule"}, {"kind", kind_}, {"warmup", schedule_.warmup}, {"steps", steps_}};
    if (kind_ == "paper") {
      out["d_model"] = schedule_.d_model;
    } else {
      out["peak"] = schedule_.peak;
      out["minimum"] = schedule_.minimum;
    }
    out["values"] = values;
    out["curve"] = curve;
    return out;
  }

  Scene picture() const override {
    Page page(fmt::format("Learning rate: {}", kind_));
    page.text(formula());
    Chart chart;
    chart.x_name = "step";
    chart.y_name = "learning rate";
    chart.series.push_back({kind_, {curve_steps_.begin(), curve_steps_.end()}, rates_});
    for (const int64_t step : special_) {
      if (step > steps_) continue;
      const double rate = train::learning_rate(schedule_, step);
      chart.marks.push_back({static_cast<double>(step), rate, fmt::format("{:.6e} at {}", rate, step)});
    }
    page.chart(chart);
    page.table(table());
    return page.finish();
  }

 private:
  void add_point(int64_t step) {
    curve_steps_.push_back(step);
    rates_.push_back(train::learning_rate(schedule_, step));
  }

  std::string formula() const {
    const int64_t w = schedule_.warmup;
    const std::string start = w > 0 ? fmt::format("up to {:g} in {} steps", schedule_.peak, w)
                                    : fmt::format("{:g} from the first step", schedule_.peak);
    switch (schedule_.kind) {
      case train::ScheduleKind::kPaper:
        return w > 0 ? fmt::format("{}^-0.5 · min(step^-0.5, step · {}^-1.5)", schedule_.d_model, w)
                     : fmt::format("{}^-0.5 · step^-0.5", schedule_.d_model);
      case train::ScheduleKind::kCosine:
        return fmt::format("{}, down along a cosine to {:g} at {}", start, schedule_.minimum, steps_);
      case train::ScheduleKind::kLinear:
        return fmt::format("{}, down along a line to {:g} at {}", start, schedule_.minimum, steps_);
      case train::ScheduleKind::kSqrt:
        return fmt::format("{}, then down with the root of the step", start);
      case train::ScheduleKind::kConstant:
        break;
    }
    return fmt::format("{}, and there it stays", start);
  }

  Table table() const {
    Table table{{"step", "learning rate", ""}, {}, {true, true, false}};
    for (const int64_t step : special_) {
      const char* note = step == schedule_.warmup       ? "the warm-up ends"
                         : step == 1                    ? "the first"
                         : step == 2 * schedule_.warmup ? "twice the warm-up"
                                                        : "the last";
      table.rows.push_back({with_commas(step), fmt::format("{:.6e}", train::learning_rate(schedule_, step)), note});
    }
    return table;
  }

  const CLI::App* app_ = nullptr;
  train::Schedule schedule_;
  std::string kind_ = "paper";
  int64_t steps_ = 0;
  std::vector<int64_t> curve_steps_, special_;
  std::vector<double> rates_;
};

}  // namespace

void add_show_schedule(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"schedule", "the learning rate of every step", "heed show schedule --d-model 512 --warmup 4000"},
                std::make_shared<ScheduleShow>());
}

}  // namespace heed::cli
