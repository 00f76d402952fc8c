#include <fmt/format.h>

#include <cmath>

#include "heed/cli/head_split.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostShown = 24;

class HeadsShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_whole(&app, "--d-model", d_model_, {1, 1 << 20}, "features of the model; 512 without it");
    add_whole(&app, "--heads", heads_, {1, 1 << 14}, "heads that share them; 8 without it");
  }

  void compute(const Common&) override { d_k_ = head_size(place(app_), d_model_, heads_); }

  std::string text(const Style& style) const override {
    std::string out = heading(style, fmt::format("{} features = {} heads × {}", d_model_, heads_, d_k_));
    out += "Every head attends on its own slice of Q, K and V; the slices of the results stand side by side again.\n\n";
    out += table_text(table(), style);
    out += fmt::format("\nscale = 1 / sqrt({}) = {:.6f}: of one head, not of the model\n", d_k_, scale());
    out += fmt::format("W_Q, W_K, W_V, W_O: 4 × {0} × {0} = {1} numbers, as many as one head of {0} would have\n",
                       d_model_, with_commas(4 * d_model_ * d_model_));
    return out;
  }

  Json json() const override {
    Json slices = Json::array();
    for (int64_t h = 0; h < heads_; ++h) slices.push_back({h * d_k_, (h + 1) * d_k_});
    return {{"show", "heads"}, {"d_model", d_model_}, {"heads", heads_},
            {"d_k", d_k_},     {"scale", scale()},    {"weights", 4 * d_model_ * d_model_},
            {"slices", slices}};
  }

  Scene picture() const override {
    Page page(fmt::format("{} features = {} heads × {}", d_model_, heads_, d_k_));
    page.text("Each head reads its own slice of the features; all of them work side by side.");
    const int64_t drawn = std::min<int64_t>(heads_, kMostShown);
    Grid grid{drawn, drawn, {}, numbered("head ", drawn), {}};
    for (int64_t h = 0; h < drawn; ++h) {
      grid.column_names.push_back(d_k_ == 1 ? std::to_string(h) : fmt::format("{}-{}", h * d_k_, (h + 1) * d_k_ - 1));
      for (int64_t c = 0; c < drawn; ++c) grid.values.push_back(h == c ? 1 : 0);
    }
    page.heat({HeatPanel{drawn < heads_ ? fmt::format("the first {} of {} slices", drawn, heads_) : "slices",
                         grid,
                         {},
                         -1,
                         "features",
                         "",
                         false}});
    page.text(fmt::format("scale 1 / sqrt({}) = {:.6f}   ·   W_Q, W_K, W_V, W_O: {} numbers in all", d_k_, scale(),
                          with_commas(4 * d_model_ * d_model_)));
    return page.finish();
  }

 private:
  double scale() const { return 1 / std::sqrt(static_cast<double>(d_k_)); }

  Table table() const {
    Table table{{"head", "features", "Q, K, V of it", "its weights W"}, {}, {true, false, false, false}};
    for (const int64_t h : shown(heads_, kMostShown)) {
      if (h < 0) {
        table.rows.push_back({"...", "", "", ""});
      } else {
        table.rows.push_back({std::to_string(h), fmt::format("{} .. {}", h * d_k_, (h + 1) * d_k_ - 1),
                              fmt::format("(n, {})", d_k_), fmt::format("({}, {})", d_model_, d_k_)});
      }
    }
    return table;
  }

  const CLI::App* app_ = nullptr;
  int64_t d_model_ = 512, heads_ = 8, d_k_ = 64;
};

}  // namespace

void add_show_heads(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"heads", "how the features are split among heads", "heed show heads --d-model 512 --heads 8"},
                std::make_shared<HeadsShow>());
}

}  // namespace heed::cli
