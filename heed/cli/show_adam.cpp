#include <fmt/format.h>

#include <cmath>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"
#include "heed/kernels/optimizer.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostSteps = 4096, kMostShown = 24;

struct AdamLine {
  int64_t step;
  float gradient, m, v;
  double m_corrected, v_corrected, change;
  float weight;  // after the step
};

// A mean that started at zero, as if it had not.
double corrected(float mean, double beta, double t) { return mean / (1 - std::pow(beta, t)); }

class AdamShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_text(&app, "--gradients", gradients_,
             "of each step, such as \"1 -1 0.5\", or a file; without it, those of w^2 / 2", "ROW|FILE");
    add_whole(&app, "--steps", steps_, {1, kMostSteps}, "steps on w^2 / 2; 8 without it");
    add_number(&app, "--weight", start_, {-1e6, 1e6}, "where the weight starts; 1 without it");
    add_number(&app, "--lr", lr_, {1e-12, 1e3}, "learning rate; 0.1 without it");
    add_number(&app, "--beta1", beta1_, {0, 0.999999}, "0.9 without it");
    add_number(&app, "--beta2", beta2_, {0, 0.999999}, "0.98 without it");
    add_number(&app, "--eps", eps_, {1e-30, 1}, "1e-9 without it");
    add_number(&app, "--weight-decay", decay_, {0, 1}, "of AdamW; 0 without it");
  }

  void compute(const Common&) override {
    Matrix read;
    if (given(app_, "--gradients")) {
      const std::string where = place(app_) + " --gradients";
      if (given(app_, "--steps")) fail("{} --steps beside --gradients: expected one of them", place(app_));
      read = parse_matrix(where, gradients_);
      if (read.rows > 1 && read.columns > 1)
        fail("{} is ({}, {}): expected one row, a number a step", where, read.rows, read.columns);
      steps_ = static_cast<int64_t>(read.values.size());
      if (steps_ > kMostSteps) fail("{} has {} numbers: expected at most {}", where, steps_, kMostSteps);
      for (const float g : read.values) {
        if (std::abs(g) > 1e15f) fail("{} '{:g}': expected a number within +-1e15", where, g);
      }
    }
    float w = static_cast<float>(start_), m = 0, v = 0;
    for (int64_t step = 1; step <= steps_; ++step) {
      const float g = read.values.empty() ? w : read.values[static_cast<size_t>(step - 1)], before = w;
      kernels::adam({.n = 1,
                     .w = &w,
                     .m = &m,
                     .v = &v,
                     .g = &g,
                     .lr = lr_,
                     .beta1 = beta1_,
                     .beta2 = beta2_,
                     .eps = eps_,
                     .weight_decay = decay_,
                     .step = step});
      if (!std::isfinite(w) || !std::isfinite(v)) {
        fail("{} the numbers leave the range of floats at step {}: expected a smaller --lr", place(app_), step);
      }
      const auto t = static_cast<double>(step);
      lines_.push_back({step, g, m, v, corrected(m, beta1_, t), corrected(v, beta2_, t), double{w} - before, w});
    }
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, decay_ > 0 ? "AdamW" : "Adam", constants());
    out += "m = β1 m + (1-β1) g    v = β2 v + (1-β2) g²    w -= lr · m̂ / (sqrt(v̂) + ε)";
    out += decay_ > 0 ? "    first w -= lr · decay · w\n" : "\n";
    out += fmt::format("{}\n\n",
                       given(app_, "--gradients") ? "gradients as given" : "gradients of w²/2, which is w itself");
    out += table_text(table(), style);
    if (lines_.size() < 2) return out;
    Curve curve{{0}, {start_}, "step", "weight", 8};
    for (const AdamLine& line : lines_) {
      curve.x.push_back(static_cast<double>(line.step));
      curve.y.push_back(line.weight);
    }
    return out + "\n" + curve_text(curve, style);
  }

  Json json() const override {
    Json steps = Json::array();
    for (const AdamLine& l : lines_) {
      steps.push_back({{"step", l.step},
                       {"gradient", l.gradient},
                       {"m", l.m},
                       {"v", l.v},
                       {"m_corrected", l.m_corrected},
                       {"v_corrected", l.v_corrected},
                       {"change", l.change},
                       {"weight", l.weight}});
    }
    return {{"show", "adam"},         {"lr", lr_},       {"beta1", beta1_}, {"beta2", beta2_}, {"eps", eps_},
            {"weight_decay", decay_}, {"start", start_}, {"steps", steps}};
  }

  Scene picture() const override {
    Page page(decay_ > 0 ? "AdamW, step by step" : "Adam, step by step");
    page.text(constants());
    Chart chart;
    chart.series = {{"weight", {0}, {start_}}, {"gradient", {}, {}}};
    chart.x_name = "step";
    for (const AdamLine& line : lines_) {
      const auto step = static_cast<double>(line.step);
      chart.series[0].x.push_back(step);
      chart.series[0].y.push_back(line.weight);
      chart.series[1].x.push_back(step);
      chart.series[1].y.push_back(line.gradient);
    }
    page.chart(chart);
    page.table(table());
    return page.finish();
  }

 private:
  std::string constants() const {
    return fmt::format("lr {:g}, β1 {:g}, β2 {:g}, ε {:g}{}", lr_, beta1_, beta2_, eps_,
                       decay_ > 0 ? fmt::format(", weight decay {:g}", decay_) : "");
  }

  Table table() const {
    Table table{{"step", "gradient", "m", "v", "m corrected", "v corrected", "change", "weight"},
                {},
                std::vector<bool>(8, true)};
    for (const int64_t i : shown(static_cast<int64_t>(lines_.size()), kMostShown)) {
      if (i < 0) {
        table.rows.emplace_back(8, "...");
        continue;
      }
      const AdamLine& l = lines_[static_cast<size_t>(i)];
      std::vector<std::string> row = {std::to_string(l.step)};
      for (const double x :
           {double{l.gradient}, double{l.m}, double{l.v}, l.m_corrected, l.v_corrected, l.change, double{l.weight}}) {
        row.push_back(x != 0 && (std::abs(x) < 1e-3 || std::abs(x) >= 1e6) ? fmt::format("{:.4e}", x)
                                                                           : fmt::format("{:.6f}", x));
      }
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const CLI::App* app_ = nullptr;
  std::string gradients_;
  int64_t steps_ = 8;
  double start_ = 1, lr_ = 0.1, beta1_ = 0.9, beta2_ = 0.98, eps_ = 1e-9, decay_ = 0;
  std::vector<AdamLine> lines_;
};

}  // namespace

void add_show_adam(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"adam", "a few steps of Adam or AdamW", "heed show adam --gradients \"1 1 -1 0.5\" --lr 0.01"},
                std::make_shared<AdamShow>());
}

}  // namespace heed::cli
