#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "heed/base/error.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"

namespace heed::cli {
namespace {

constexpr int64_t kMostLength = 512, kMostSequences = 64;

class MaskShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_whole(&app, "--length", length_, {1, kMostLength},
              "positions of a padded row; the longest of --lengths without it");
    add_wholes(&app, "--lengths", lengths_, {1, kMostLength}, "tokens of each sequence, such as 5,3; without it, 5,3");
  }

  void compute(const Common&) override {
    const std::string where = place(app_);
    if (lengths_.empty())
      lengths_ =
          length_ > 0 ? std::vector<int64_t>{length_, std::max<int64_t>(1, length_ / 2)} : std::vector<int64_t>{5, 3};
    if (static_cast<int64_t>(lengths_.size()) > kMostSequences) {
      fail("{} --lengths has {} sequences: expected at most {}", where, lengths_.size(), kMostSequences);
    }
    const int64_t longest = *std::max_element(lengths_.begin(), lengths_.end());
    if (length_ == 0) length_ = longest;
    if (longest > length_)
      fail("{} a sequence of {} in --length {}: expected at most {}", where, longest, length_, length_);
    causal_ = square([](int64_t query, int64_t key) { return key <= query; });
    padding_ = {static_cast<int64_t>(lengths_.size()), length_, {}, {}, {}};
    for (size_t s = 0; s < lengths_.size(); ++s) {
      padding_.row_names.push_back(fmt::format("sequence {}", s));
      for (int64_t key = 0; key < length_; ++key) padding_.values.push_back(key < lengths_[s]);
      const int64_t own = lengths_[s];
      combined_.push_back(square([own](int64_t query, int64_t key) { return key <= query && key < own; }));
    }
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, "Masks", "■ is seen, · is hidden: its score becomes -inf and its weight 0");
    out += section(style, "causal", "a row a query, a column a key: position t sees only <= t");
    out += marks(causal_);
    out += section(style, "padding",
                   fmt::format("tokens: {}; what fills a row up is seen by no one", fmt::join(lengths_, ", ")));
    out += marks(padding_);
    for (size_t s = 0; s < combined_.size(); ++s) {
      out += section(style, fmt::format("causal and padding, sequence {}", s), fmt::format("{} tokens", lengths_[s]));
      out += marks(combined_[s]);
    }
    return out;
  }

  Json json() const override {
    const auto whole = [](const Grid& grid) {
      Json rows = Json::array();
      for (int64_t r = 0; r < grid.rows; ++r) {
        rows.push_back(Json::array());
        for (int64_t c = 0; c < grid.columns; ++c) rows.back().push_back(grid.at(r, c) != 0 ? 1 : 0);
      }
      return rows;
    };
    Json combined = Json::array();
    for (const Grid& grid : combined_) combined.push_back(whole(grid));
    return {{"show", "mask"},           {"length", length_},          {"lengths", lengths_},
            {"causal", whole(causal_)}, {"padding", whole(padding_)}, {"combined", combined}};
  }

  Scene picture() const override {
    Page page("Masks: dark is seen, light is hidden");
    std::vector<HeatPanel> panels = {{"causal", causal_, {}, -1, "keys", "queries", false},
                                     {"padding", padding_, {}, -1, "keys", "", false}};
    for (size_t s = 0; s < std::min<size_t>(combined_.size(), 8); ++s) {
      panels.push_back({fmt::format("both, sequence {} of {} tokens", s, lengths_[s]),
                        combined_[s],
                        {},
                        -1,
                        "keys",
                        "queries",
                        false});
    }
    page.heat(panels);
    return page.finish();
  }

 private:
  template <class Seen>
  Grid square(Seen seen) const {
    Grid grid{length_, length_, {}, {}, {}};
    for (int64_t q = 0; q < length_; ++q) {
      for (int64_t k = 0; k < length_; ++k) grid.values.push_back(seen(q, k) ? 1 : 0);
    }
    return grid;
  }

  static std::string marks(const Grid& grid) {
    int64_t names = 0;
    for (int64_t r = 0; r < grid.rows; ++r) names = std::max(names, display_width(grid.row_name(r)));
    std::string out;
    for (const int64_t r : shown(grid.rows, 40)) {
      out += pad_left(r < 0 ? "..." : grid.row_name(r), names + 2) + "  ";
      for (const int64_t c : shown(grid.columns, 40)) out += c < 0 || r < 0 ? ".. " : grid.at(r, c) != 0 ? "■ " : "· ";
      out.back() = '\n';
    }
    return out;
  }

  const CLI::App* app_ = nullptr;
  int64_t length_ = 0;
  std::vector<int64_t> lengths_;
  Grid causal_, padding_;
  std::vector<Grid> combined_;
};

}  // namespace

void add_show_mask(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"mask", "who sees whom: causal, padding, both", "heed show mask --length 6 --lengths 6,4"},
                std::make_shared<MaskShow>());
}

}  // namespace heed::cli
