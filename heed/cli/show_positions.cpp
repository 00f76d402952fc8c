#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/position_tables.h"
#include "heed/cli/show.h"
#include "heed/nn/config.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostNumbers = 1 << 20, kWavesShown = 8, kWavesSpread = 6;

class PositionsShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_whole(&app, "--length", ask_.length, {1, 1024}, "positions; 10 without it");
    add_whole(&app, "--dim", ask_.dim, {1, 8192}, "features; 8 without it");
    add_choice(&app, "--kind", ask_.kind, nn::position_kind_names(), "sinusoidal without it");
    add_whole(&app, "--shift", ask_.shift, {1, 1023},
              "k of the map from PE(p) to PE(p + k), of sinusoidal and rotary; 1 without it");
    add_whole(&app, "--heads", ask_.heads, {1, 1024}, "heads of alibi; 8 without it");
    add_whole(&app, "--buckets", ask_.buckets, {4, 4096}, "buckets of t5; 32 without it");
    add_whole(&app, "--max-distance", ask_.max_distance, {2, 1 << 20}, "where t5's last bucket ends; 128 without it");
  }

  void compute(const Common& common) override {
    if (ask_.length * ask_.dim > kMostNumbers) {
      fail("{} {} positions of {} features: expected at most {} numbers", place(app_), ask_.length, ask_.dim,
           with_commas(kMostNumbers));
    }
    if (ask_.kind != "alibi") expect_absent(app_, {"--heads"}, "--kind " + ask_.kind);
    if (ask_.kind != "t5") expect_absent(app_, {"--buckets", "--max-distance"}, "--kind " + ask_.kind);
    if (ask_.kind != "sinusoidal" && ask_.kind != "rotary") expect_absent(app_, {"--shift"}, "--kind " + ask_.kind);
    ask_.seed = static_cast<uint64_t>(common.seed);
    tables_ = position_tables(ask_);
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, fmt::format("Positions: {}", ask_.kind)) + tables_.words + "\n";
    if (tables_.table.rows > 0) {
      out += section(style, "table", fmt::format("({}, {})", ask_.length, ask_.dim));
      out += matrix_text(tables_.table, style);
      out += section(style, "heat map", "a row a position, a column a feature");
      out += heat_text(tables_.table, style, scale_of(tables_.table));
      out += waves_text(style);
    }
    if (!tables_.slopes.empty()) {
      out += section(style, "slopes", "of each head") + matrix_text(slopes_grid(), style);
    }
    out += section(style, tables_.between_title, tables_.between_note);
    out += matrix_text(tables_.between, style, ask_.kind == "t5" ? 0 : ask_.kind == "learned" ? 6 : 4);
    out += heat_text(tables_.between, style, scale_of(tables_.between));
    return out + shift_text(style);
  }

  Json json() const override {
    Json out = {{"show", "positions"}, {"kind", ask_.kind}, {"length", ask_.length}};
    if (tables_.table.rows > 0) {
      out["dim"] = ask_.dim;
      out["table"] = rows_of(tables_.table);
    }
    if (!tables_.slopes.empty()) out["slopes"] = tables_.slopes;
    out[ask_.kind == "t5" ? "buckets" : ask_.kind == "alibi" ? "bias_of_head_0" : "between"] = rows_of(tables_.between);
    if (!tables_.turns.empty()) {
      Json blocks = Json::array();
      for (const nn::Turn& t : tables_.turns) blocks.push_back({{t.cos_, t.sin_}, {-t.sin_, t.cos_}});
      out["shift"] = {{"k", ask_.shift}, {"blocks", blocks}};
      if (shift_tried()) out["shift"]["max_error"] = tables_.shift_error;
    }
    return out;
  }

  Scene picture() const override {
    Page page(fmt::format("Positions: {}", ask_.kind));
    page.text(tables_.words);
    std::vector<HeatPanel> panels;
    if (tables_.table.rows > 0) {
      panels.push_back({"table", tables_.table, scale_of(tables_.table), 2, "feature", "position"});
    }
    // What training starts from is small: two decimals would leave nothing of it.
    panels.push_back({tables_.between_title, tables_.between, scale_of(tables_.between),
                      ask_.kind == "t5"        ? 0
                      : ask_.kind == "learned" ? -3
                                               : 2,
                      "position q", "position p"});
    page.heat(panels);
    if (reach() > 0 && ask_.length > 1) {
      Chart chart;
      const std::vector<int64_t> features = spread_features();
      const bool all = static_cast<int64_t>(features.size()) == ask_.dim;
      chart.title = all ? "the features along the positions"
                        : fmt::format("{} of the {} features along the positions", features.size(), ask_.dim);
      chart.x_name = "position";
      for (const int64_t c : features) {
        chart.series.push_back({tables_.table.column_name(c), {}, {}});
        chart.series.back().y = wave(c);
        const auto points = static_cast<double>(chart.series.back().y.size() - 1);
        for (double i = 0; i <= points; ++i) {
          chart.series.back().x.push_back(i / points * static_cast<double>(ask_.length - 1));
        }
      }
      page.chart(chart);
    }
    if (shift_tried()) {
      page.text(fmt::format(
          "PE(p+{0}) = M PE(p): one turn for each pair of features, the same for every p; largest error {1:.1e}",
          ask_.shift, tables_.shift_error));
    }
    return page.finish();
  }

 private:
  bool shift_tried() const { return !tables_.turns.empty() && ask_.length > ask_.shift; }

  Grid slopes_grid() const {
    return {1,
            static_cast<int64_t>(tables_.slopes.size()),
            {tables_.slopes.begin(), tables_.slopes.end()},
            {"slope"},
            numbered("head ", static_cast<int64_t>(tables_.slopes.size()))};
  }

  double reach() const {
    double most = 0;
    for (const double value : tables_.table.values) most = std::max(most, std::abs(value));
    return most;
  }

  // All of a few; of many some, from the first pair to the last: neighbours are nearly the same wave.
  std::vector<int64_t> spread_features() const {
    std::vector<int64_t> features;
    const int64_t pairs = (ask_.dim + 1) / 2, most = ask_.dim <= kWavesShown ? ask_.dim : kWavesSpread;
    for (int64_t i = 0; i < most; ++i)
      features.push_back(ask_.dim <= kWavesShown ? i : 2 * (i * (pairs - 1) / (most - 1)));
    return features;
  }

  // One feature along the positions, also between them where the wave is known.
  std::vector<double> wave(int64_t c) const {
    std::vector<double> y;
    if (tables_.turns.empty()) {
      for (int64_t p = 0; p < ask_.length; ++p) y.push_back(tables_.table.at(p, c));
      return y;
    }
    const double frequency = nn::sinusoidal_frequency(c / 2, ask_.dim);
    for (int64_t i = 0; i <= 8 * (ask_.length - 1); ++i) {
      const double angle = static_cast<double>(i) / 8 * frequency;
      y.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
    return y;
  }

  std::string waves_text(const Style& style) const {
    if (ask_.length < 2) return "";
    if (reach() == 0) return "";
    std::string out = section(style, "waves", "each feature along the positions");
    for (const int64_t c : shown(ask_.dim, kWavesShown)) {
      if (c < 0) {
        out += "     ...\n";
        continue;
      }
      const std::vector<std::string> lines =
          wave_lines(wave(c), std::min<int64_t>(style.columns - 14, 72), 2, -reach(), reach());
      for (size_t i = 0; i < lines.size(); ++i) {
        out += fmt::format("  {}  {}\n", pad_left(i == 0 ? tables_.table.column_name(c) : "", 6),
                           in_colour(style, series_colour(c), lines[i]));
      }
    }
    return out;
  }

  std::string shift_text(const Style& style) const {
    if (tables_.turns.empty()) return "";
    std::string out = section(style, fmt::format("shift by {0}: PE(p+{0}) = M PE(p)", ask_.shift),
                              "M is made of 2x2 turns, one a pair of features, the same for every p");
    Table table{{"pair", "angle", "cos", "sin", "[ cos  sin ; -sin  cos ]"}, {}, {true, true, true, true, false}};
    for (const int64_t i : shown(static_cast<int64_t>(tables_.turns.size()), 12)) {
      if (i < 0) {
        table.rows.push_back({"...", "", "", "", ""});
        continue;
      }
      const nn::Turn t = tables_.turns[static_cast<size_t>(i)];
      const double angle = static_cast<double>(ask_.shift) * nn::sinusoidal_frequency(i, ask_.dim);
      table.rows.push_back({std::to_string(i), fmt::format("{:.6f}", angle), fmt::format("{:.6f}", t.cos_),
                            fmt::format("{:.6f}", t.sin_),
                            fmt::format("[ {:9.6f} {:9.6f} ; {:9.6f} {:9.6f} ]", t.cos_, t.sin_, -t.sin_, t.cos_)});
    }
    out += table_text(table, style);
    if (ask_.dim % 2 != 0) out += "The last sine has no cosine beside it and takes no part.\n";
    if (!shift_tried())
      return out + fmt::format("Not tried: no two of {} positions are {} apart.\n", ask_.length, ask_.shift);
    return out + fmt::format("Largest error of M PE(p) = PE(p+{}) over all {} positions p: {:.2e}\n", ask_.shift,
                             ask_.length - ask_.shift, tables_.shift_error);
  }

  const CLI::App* app_ = nullptr;
  PositionAsk ask_;
  PositionTables tables_;
};

}  // namespace

void add_show_positions(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"positions", "how a kind of positions tells places apart",
                 "heed show positions --length 10 --dim 8 --kind sinusoidal --out positions.svg"},
                std::make_shared<PositionsShow>());
}

}  // namespace heed::cli
