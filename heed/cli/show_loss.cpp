#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"

namespace heed::cli {
namespace {

constexpr size_t kMostTokens = 4096, kMostShown = 40;

class LossShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_texts(&app, "probabilities", texts_, "what the model gave each right token; 0.7 without them", "P...");
    add_number(&app, "--smoothing", smoothing_, {0, 0.999}, "label smoothing; 0.1 without it");
    add_whole(&app, "--vocabulary", vocabulary_, {2, int64_t{1} << 28}, "tokens in all; 10 without it");
    add_whole(&app, "--padding", padding_, {0, kMostTokens}, "padded positions behind the tokens: they do not count");
  }

  void compute(const Common&) override {
    const std::string where = place(app_);
    if (texts_.empty()) texts_ = {"0.7"};
    if (texts_.size() > kMostTokens) fail("{} {} tokens: expected at most {}", where, texts_.size(), kMostTokens);
    const auto v = static_cast<double>(vocabulary_);
    for (const std::string& text : texts_) {
      const double p = parse_number(where, text);
      // 1 / p has to be a number, too.
      if (!(p >= DBL_MIN && p <= 1)) fail("{} '{}': expected a probability above 2.3e-308, up to 1", where, text);
      if (smoothing_ > 0 && p == 1)
        fail("{} '{}': with smoothing the others need a share, expected less than 1", where, text);
      // What is left of the probability is shared evenly by the other tokens.
      const double others = smoothing_ > 0 ? (v - 1) * std::log((1 - p) / (v - 1)) : 0;
      probabilities_.push_back(p);
      losses_.push_back(0 - std::log(p));  // of p = 1: 0, where a minus before it would give -0
      smoothed_.push_back(0 - (1 - smoothing_) * std::log(p) - smoothing_ / v * (std::log(p) + others));
      mean_ += losses_.back() / static_cast<double>(texts_.size());
      mean_smoothed_ += smoothed_.back() / static_cast<double>(texts_.size());
    }
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, "Cross-entropy: loss = -log p(right token)");
    out += section(style, "tokens",
                   fmt::format("smoothing {:g} over a vocabulary of {}", smoothing_, with_commas(vocabulary_)));
    out += table_text(table(), style);
    out += fmt::format("\nmean loss     {:.6f}{}\n", mean_, padding_ > 0 ? "   over the tokens alone" : "");
    out += fmt::format("mean smoothed {:.6f}   what training with smoothing minimises\n", mean_smoothed_);
    out += fmt::format("perplexity    {:.6f}   = exp(mean loss): as unsure as among that many equal choices\n",
                       std::exp(mean_));
    out += section(style, "smoothed target", "spreads the smoothing over the whole vocabulary");
    out += fmt::format("  right token {:.6f}   every other {:.6g}\n", right_target(), other_target());
    out += section(style, "loss against p");
    return out + curve_text({curve().x, curve().y, "p", "loss", 10}, style);
  }

  Json json() const override {
    return {{"show", "loss"},
            {"probabilities", probabilities_},
            {"cross_entropy", losses_},
            {"smoothing", smoothing_},
            {"vocabulary", vocabulary_},
            {"smoothed", smoothed_},
            {"ignored_padding", padding_},
            {"mean_loss", mean_},
            {"mean_smoothed", mean_smoothed_},
            {"perplexity", std::exp(mean_)},
            {"smoothed_target", {{"right", right_target()}, {"other", other_target()}}}};
  }

  Scene picture() const override {
    Page page("Cross-entropy: -log p");
    page.text(fmt::format("mean loss {:.6f}   ·   perplexity {:.6f}   ·   with smoothing {:g}: {:.6f}", mean_,
                          std::exp(mean_), smoothing_, mean_smoothed_));
    Chart chart;
    chart.series.push_back(curve());
    chart.x_name = "probability of the right token";
    chart.y_name = "loss";
    for (size_t i = 0; i < std::min<size_t>(probabilities_.size(), 8); ++i) {
      if (probabilities_[i] < 0.02) continue;
      chart.marks.push_back({probabilities_[i], losses_[i], fmt::format("{:.6f}", losses_[i])});
    }
    page.chart(chart);
    page.table(table());
    return page.finish();
  }

 private:
  double other_target() const { return smoothing_ / static_cast<double>(vocabulary_); }
  double right_target() const { return 1 - smoothing_ + other_target(); }

  static Chart::Series curve() {
    Chart::Series series{"-log p", {}, {}};
    for (int i = 0; i <= 196; ++i) {
      series.x.push_back(0.02 + i * 0.005);
      series.y.push_back(std::max(0.0, -std::log(series.x.back())));
    }
    return series;
  }

  Table table() const {
    Table table{{"token", "p", "-log p", "smoothed"}, {}, {true, true, true, true}};
    for (const int64_t at : shown(static_cast<int64_t>(probabilities_.size()), kMostShown)) {
      if (at < 0) {
        table.rows.push_back({"...", "", "", ""});
        continue;
      }
      const auto i = static_cast<size_t>(at);
      table.rows.push_back({std::to_string(i), fmt::format("{:g}", probabilities_[i]),
                            fmt::format("{:.6f}", losses_[i]), fmt::format("{:.6f}", smoothed_[i])});
    }
    if (padding_ > 0) table.rows.push_back({fmt::format("+{}", padding_), "padding", "ignored", "ignored"});
    return table;
  }

  const CLI::App* app_ = nullptr;
  std::vector<std::string> texts_;
  double smoothing_ = 0.1, mean_ = 0, mean_smoothed_ = 0;
  int64_t vocabulary_ = 10, padding_ = 0;
  std::vector<double> probabilities_, losses_, smoothed_;
};

}  // namespace

void add_show_loss(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"loss", "cross-entropy, label smoothing, perplexity",
                 "heed show loss 0.7 0.5 0.9 --smoothing 0.1 --vocabulary 100"},
                std::make_shared<LossShow>());
}

}  // namespace heed::cli
