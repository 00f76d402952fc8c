#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "heed/base/error.h"
#include "heed/cli/attention_steps.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"
#include "heed/io/printable.h"

namespace heed::cli {
namespace {

constexpr const char *kQ = "1 0 1 0; 0 1 0 1; 1 1 0 0", *kK = "1 1 0 0; 0 0 1 1; 1 0 1 0",
                     *kV = "1 2 3 4; 5 6 7 8; 9 10 11 12";
constexpr int64_t kMostHeadsShown = 16;
constexpr size_t kLongestLabel = 256;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class AttentionShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_text(&app, "--q", q_, "queries: rows such as \"1 0; 0 1\", or a file of rows", "ROWS|FILE");
    add_text(&app, "--k", k_, "keys; without it, the queries", "ROWS|FILE");
    add_text(&app, "--v", v_, "values; without it, the keys", "ROWS|FILE");
    add_text(&app, "--mask", mask_, "causal, or rows of 1 (seen) and 0 (hidden), or a file of them", "MASK");
    add_flag(&app, "--no-scale", no_scale_, "leave out the division by sqrt(d_k)");
    add_whole(&app, "--heads", ask_.heads, {1, 1024}, "heads that share the columns; 1 without it");
    add_text(&app, "--labels", labels_, "names of the keys (and queries, if as many): \"the cat sat\"", "WORDS");
  }

  void compute(const Common&) override {
    const std::string where = place(app_);
    const bool asked = given(app_, "--q");
    if (!asked && (given(app_, "--k") || given(app_, "--v"))) fail("{} --q is missing", where);
    example_ = !asked;
    ask_.q = parse_matrix(where + " --q", asked ? q_ : kQ);
    ask_.k = given(app_, "--k") ? parse_matrix(where + " --k", k_) : asked ? ask_.q : parse_matrix(where, kK);
    ask_.v = given(app_, "--v") ? parse_matrix(where + " --v", v_) : asked ? ask_.k : parse_matrix(where, kV);
    ask_.scaled = !no_scale_;
    check_attention(where, ask_);
    if (given(app_, "--mask")) read_mask(where + " --mask");
    heads_ = attention_steps(ask_);
    by_kernel_ = attention_by_kernel(ask_);
    name_all(where);
  }

  std::string text(const Style& style) const override {
    std::string out =
        heading(style, fmt::format("Attention(Q, K, V) = softmax(Q Kᵀ{}) V", ask_.scaled ? " / sqrt(d_k)" : ""),
                example_ ? "the worked example; give your own with --q --k --v" : "");
    for (size_t h = 0; h < heads_.size(); ++h) {
      if (static_cast<int64_t>(h) == kMostHeadsShown) {
        out += fmt::format("\n... and {} more heads; --json gives all of them\n", heads_.size() - h);
        break;
      }
      if (heads_.size() > 1) out += section(style, fmt::format("Head {} of {}", h, heads_.size()));
      out += head_text(heads_[h], style);
    }
    if (heads_.size() > 1) {
      out += section(style, "Concat(heads)", shape_of(merged())) + matrix_text(merged(), style);
    }
    const double most = difference();
    return out + fmt::format("\nThe engine's own attention, in tiles and f32, {}.\n",
                             std::isfinite(most) ? fmt::format("differs by at most {:.1e}", most)
                                                 : "is not finite here: numbers so large leave its range");
  }

  Json json() const override {
    const Grid by_kernel{ask_.q.rows, ask_.v.columns, {by_kernel_.begin(), by_kernel_.end()}, {}, {}};
    Json heads = Json::array();
    for (const HeadSteps& s : heads_) {
      Json head = {{"q", rows_of(s.q)},
                   {"k", rows_of(s.k)},
                   {"v", rows_of(s.v)},
                   {"scores", rows_of(s.scores)},
                   {"scaled", rows_of(s.scaled)}};
      if (!ask_.keep.empty()) head["masked"] = rows_of(s.masked);
      head["weights"] = rows_of(s.weights);
      head["output"] = rows_of(s.output);
      heads.push_back(std::move(head));
    }
    return {{"show", "attention"},
            {"heads", ask_.heads},
            {"d_k", ask_.q.columns / ask_.heads},
            {"d_v", ask_.v.columns / ask_.heads},
            {"scale", scale()},
            {"steps", heads},
            {"output", rows_of(merged())},
            {"engine", {{"output", rows_of(by_kernel)}, {"largest_difference", difference()}}}};
  }

  Scene picture() const override {
    Page page("Scaled dot-product attention");
    page.text(fmt::format("softmax(Q Kᵀ{}) V   ·   {} queries, {} keys, d_k = {}",
                          ask_.scaled ? fmt::format(" × {:.4g}", scale()) : "", ask_.q.rows, ask_.k.rows,
                          ask_.q.columns / ask_.heads));
    const size_t drawn = std::min(heads_.size(), static_cast<size_t>(kMostHeadsShown));
    for (size_t h = 0; h < drawn; ++h) {
      const HeadSteps& s = heads_[h];
      const std::string head = heads_.size() > 1 ? fmt::format("Head {}: ", h) : "";
      const auto panel = [&](const std::string& title, const Grid& grid, int decimals) {
        return HeatPanel{head + title, grid, scale_of(grid), decimals, "", ""};
      };
      std::vector<HeatPanel> panels;
      if (heads_.size() == 1) panels = {panel("Q", s.q, -2), panel("K", s.k, -2), panel("V", s.v, -2)};
      panels.push_back(panel("Q Kᵀ", s.scores, 2));
      if (ask_.scaled) panels.push_back(panel("scaled", s.scaled, 2));
      if (!ask_.keep.empty()) panels.push_back(panel("masked", s.masked, 2));
      panels.push_back(HeatPanel{head + "weights", s.weights, {}, 3, "keys", "queries"});
      panels.push_back(panel("output", s.output, 3));
      page.heat(panels);
    }
    if (drawn < heads_.size()) page.text(fmt::format("{} more heads are not drawn", heads_.size() - drawn));
    return page.finish();
  }

 private:
  double scale() const { return ask_.scaled ? 1 / std::sqrt(static_cast<double>(ask_.q.columns / ask_.heads)) : 1; }

  static std::string shape_of(const Grid& grid) { return fmt::format("({}, {})", grid.rows, grid.columns); }

  void read_mask(const std::string& where) {
    const int64_t rows = ask_.q.rows, columns = ask_.k.rows;
    if (mask_ == "causal") {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) ask_.keep.push_back(j <= i + columns - rows);
      }
      return;
    }
    if (!nearest(mask_, {"causal"}).empty()) fail("{} unknown '{}': did you mean 'causal'?", where, mask_);
    const Matrix matrix = parse_matrix(where, mask_);
    if (matrix.rows != rows || matrix.columns != columns) {
      fail("{} is ({}, {}): expected ({}, {}), a row a query and a column a key", where, matrix.rows, matrix.columns,
           rows, columns);
    }
    for (const float value : matrix.values) {
      if (value != 0 && value != 1) fail("{} has {}: expected 1 (seen) or 0 (hidden)", where, value);
      ask_.keep.push_back(value == 1);
    }
  }

  void name_all(const std::string& where) {
    const std::vector<std::string> words = words_of(labels_);
    for (const std::string& word : words) {
      if (word.size() > kLongestLabel)
        fail("{} --labels has a word of {} bytes: expected at most {}", where, word.size(), kLongestLabel);
      if (printable(word) != word) fail("{} --labels has {}: expected words in UTF-8", where, in_quotes(word));
    }
    if (!words.empty() && static_cast<int64_t>(words.size()) != ask_.k.rows) {
      fail("{} --labels has {} words: expected {}, one a key", where, words.size(), ask_.k.rows);
    }
    keys_ = words.empty() ? numbered("k", ask_.k.rows) : words;
    queries_ = words.empty() || ask_.q.rows != ask_.k.rows ? numbered("q", ask_.q.rows) : words;
    for (HeadSteps& s : heads_) {
      s.q.row_names = s.output.row_names = queries_;
      s.k.row_names = s.v.row_names = keys_;
      for (Grid* grid : {&s.scores, &s.scaled, &s.masked, &s.weights}) {
        grid->row_names = queries_;
        grid->column_names = keys_;
      }
    }
  }

  std::string head_text(const HeadSteps& s, const Style& style) const {
    std::string out;
    const auto step = [&](const std::string& title, const Grid& grid, int decimals) {
      out += section(style, title, shape_of(grid)) + matrix_text(grid, style, decimals);
    };
    step("Q  queries", s.q, -1);
    step("K  keys", s.k, -1);
    step("V  values", s.v, -1);
    step("scores = Q Kᵀ", s.scores, 6);
    if (ask_.scaled) step(fmt::format("scaled = scores / sqrt({})", s.q.columns), s.scaled, 6);
    if (!ask_.keep.empty()) step("masked: -inf where a key is hidden", s.masked, 6);
    step("weights = softmax of each row", s.weights, 6);
    out += section(style, "weights, shaded") + heat_text(s.weights, style, Scale{});
    step("output = weights V", s.output, 6);
    return out;
  }

  // Concat(head_1 .. head_h): the heads' columns side by side.
  Grid merged() const {
    Grid all{ask_.q.rows, ask_.v.columns, {}, queries_, {}};
    for (int64_t r = 0; r < all.rows; ++r) {
      for (const HeadSteps& s : heads_) {
        for (int64_t c = 0; c < s.output.columns; ++c) all.values.push_back(s.output.at(r, c));
      }
    }
    return all;
  }

  // Between the textbook's output and the engine's; NaN, or infinity, where the engine's is not finite.
  double difference() const {
    const Grid all = merged();
    double most = 0;
    for (size_t i = 0; i < by_kernel_.size(); ++i) {
      const double off = std::abs(all.values[i] - by_kernel_[i]);
      if (std::isnan(off) || off > most) most = off;
    }
    return most;
  }

  const CLI::App* app_ = nullptr;
  std::string q_, k_, v_, mask_, labels_;
  bool no_scale_ = false, example_ = false;
  AttentionAsk ask_;
  std::vector<HeadSteps> heads_;
  std::vector<float> by_kernel_;
  std::vector<std::string> queries_, keys_;
};

}  // namespace

void add_show_attention(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"attention", "every step of softmax(Q Kᵀ / sqrt(d_k)) V",
                 "heed show attention --q \"1 0; 0 1\" --k \"1 1; 0 1\" --v \"1 2; 3 4\" --mask causal"},
                std::make_shared<AttentionShow>());
}

}  // namespace heed::cli
