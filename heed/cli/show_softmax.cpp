#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"
#include "heed/kernels/softmax.h"

namespace heed::cli {
namespace {

constexpr size_t kMostNumbers = 4096, kMostShown = 40;

class SoftmaxShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_texts(&app, "numbers", texts_, "the numbers; 2.0 1.0 0.1 without them", "X...");
    add_number(&app, "--temperature", temperature_, {1e-6, 1e6}, "divides the numbers first; 1 without it");
  }

  void compute(const Common&) override {
    const std::string where = place(app_);
    if (texts_.empty()) texts_ = {"2.0", "1.0", "0.1"};
    if (texts_.size() > kMostNumbers) fail("{} {} numbers: expected at most {}", where, texts_.size(), kMostNumbers);
    for (const std::string& text : texts_) {
      numbers_.push_back(parse_number(where, text));
      if (std::abs(numbers_.back()) > FLT_MAX) fail("{} '{}': expected a number within +-3.4e38", where, text);
    }
    most_ = *std::max_element(numbers_.begin(), numbers_.end()) / temperature_;
    std::vector<float> moved;  // a number taken from all of them changes nothing, and the largest is safe to raise e to
    for (const double number : numbers_) {
      scaled_.push_back(number / temperature_);
      shifted_.push_back(scaled_.back() - most_);
      raised_.push_back(std::exp(shifted_.back()));
      sum_ += raised_.back();
      moved.push_back(static_cast<float>(shifted_.back()));
    }
    probabilities_.resize(moved.size());
    kernels::softmax(probabilities_.data(), moved.data(), 1, static_cast<int64_t>(moved.size()));
    for (const float p : probabilities_) entropy_ -= p > 0 ? p * std::log(double{p}) : 0;
  }

  std::string text(const Style& style) const override {
    std::string out =
        heading(style, "softmax(x)_i = exp(x_i) / sum_j exp(x_j)",
                temperature_ == 1 ? "" : fmt::format("at temperature {:g}: x is divided by it first", temperature_));
    out += fmt::format("\nmax = {:g}, taken from all so that no exp can overflow\n\n", most_);
    out += table_text(table(), style);
    out += fmt::format("\nsum of exp = {:.6f}\nentropy    = {:.6f} of at most {:.6f}\n", sum_, entropy_,
                       std::log(static_cast<double>(numbers_.size())));
    return out + section(style, "shares") + bars_text(style);
  }

  Json json() const override {
    return {{"show", "softmax"},
            {"temperature", temperature_},
            {"input", numbers_},
            {"scaled", scaled_},
            {"max", most_},
            {"shifted", shifted_},
            {"exp", raised_},
            {"sum", sum_},
            {"softmax", probabilities_},
            {"entropy", entropy_}};
  }

  Scene picture() const override {
    Page page("softmax");
    if (temperature_ != 1) page.text(fmt::format("at temperature {:g}", temperature_));
    Bars bars;
    for (size_t i = 0; i < std::min(numbers_.size(), kMostShown); ++i) {
      bars.bars.push_back(
          {fmt::format("{:g}", numbers_[i]), probabilities_[i], fmt::format("{:.6f}", probabilities_[i])});
    }
    page.bars(bars);
    page.table(table());
    return page.finish();
  }

 private:
  Table table() const {
    Table table{{"x", "x - max", "exp", "softmax"}, {}, {true, true, true, true}};
    if (temperature_ != 1) {
      table.head = {"x", "x / T", "x / T - max", "exp", "softmax"};
      table.right.push_back(true);
    }
    for (const int64_t at : shown(static_cast<int64_t>(numbers_.size()), kMostShown)) {
      if (at < 0) {
        table.rows.emplace_back(table.head.size(), "...");
        continue;
      }
      const auto i = static_cast<size_t>(at);
      table.rows.push_back({fmt::format("{:g}", numbers_[i]), fmt::format("{:.6g}", scaled_[i]),
                            fmt::format("{:.6g}", shifted_[i]), fmt::format("{:.6f}", raised_[i]),
                            fmt::format("{:.6f}", probabilities_[i])});
      if (temperature_ == 1) table.rows.back().erase(table.rows.back().begin() + 1);
    }
    return table;
  }

  std::string bars_text(const Style& style) const {
    std::string out;
    for (const int64_t at : shown(static_cast<int64_t>(numbers_.size()), kMostShown)) {
      if (at < 0) {
        out += "  ...\n";
        continue;
      }
      const auto i = static_cast<size_t>(at);
      std::string bar;
      for (int64_t k = 0; k < std::lround(50 * probabilities_[i]); ++k) bar += "█";
      out += fmt::format("  {} {} {:.1f} %\n", pad_left(fmt::format("{:g}", numbers_[i]), 10),
                         in_colour(style, series_colour(0), bar), 100 * probabilities_[i]);
    }
    return out;
  }

  const CLI::App* app_ = nullptr;
  std::vector<std::string> texts_;
  double temperature_ = 1, most_ = 0, sum_ = 0, entropy_ = 0;
  std::vector<double> numbers_, scaled_, shifted_, raised_;
  std::vector<float> probabilities_;
};

}  // namespace

void add_show_softmax(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"softmax", "numbers to shares, step by step", "heed show softmax 2.0 1.0 0.1 --temperature 0.5"},
                std::make_shared<SoftmaxShow>());
}

}  // namespace heed::cli
