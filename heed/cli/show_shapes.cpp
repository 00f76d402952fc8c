#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heed/cli/head_split.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"

namespace heed::cli {
namespace {

struct NamedShape {
  std::string name, how;
  std::vector<int64_t> shape;

  int64_t numbers() const {
    int64_t n = 1;
    for (const int64_t size : shape) n *= size;
    return n;
  }
};

class ShapesShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_whole(&app, "--d-model", d_model_, {1, 1 << 20}, "features; 512 without it");
    add_whole(&app, "--heads", heads_, {1, 1 << 10}, "heads; 8 without it");
    add_whole(&app, "--batch", batch_, {1, 1 << 16}, "sequences; 32 without it");
    add_whole(&app, "--length", length_, {1, 1 << 16}, "positions of a sequence; 128 without it");
    add_whole(&app, "--keys", keys_, {1, 1 << 16}, "positions of the other sequence in cross-attention");
  }

  void compute(const Common&) override {
    const int64_t d_k = head_size(place(app_), d_model_, heads_), n = length_, m = keys_ > 0 ? keys_ : length_;
    shapes_ = {
        {"x", "the input", {batch_, n, d_model_}},
        {"q", "x W_Q", {batch_, n, d_model_}},
        {"k", "x W_K", {batch_, m, d_model_}},
        {"v", "x W_V", {batch_, m, d_model_}},
        {"q split", "a head has its own d_k features", {batch_, heads_, n, d_k}},
        {"k split", "", {batch_, heads_, m, d_k}},
        {"v split", "", {batch_, heads_, m, d_k}},
        {"scores", "q kᵀ / sqrt(d_k)", {batch_, heads_, n, m}},
        {"weights", "softmax over the keys", {batch_, heads_, n, m}},
        {"per-head output", "weights v", {batch_, heads_, n, d_k}},
        {"merged", "heads side by side", {batch_, n, d_model_}},
        {"output", "merged W_O", {batch_, n, d_model_}},
    };
    if (keys_ > 0) {
      shapes_[2].how = "memory W_K";
      shapes_[3].how = "memory W_V";
    }
  }

  std::string text(const Style& style) const override {
    return heading(style, "Shapes inside multi-head attention", title()) + "\n" + table_text(table(true), style);
  }

  Json json() const override {
    Json shapes = Json::object();
    for (const NamedShape& s : shapes_) shapes[s.name] = s.shape;
    return {{"show", "shapes"},    {"batch", batch_}, {"length", length_}, {"keys", keys_ > 0 ? keys_ : length_},
            {"d_model", d_model_}, {"heads", heads_}, {"shapes", shapes}};
  }

  Scene picture() const override {
    Page page("Shapes inside multi-head attention");
    page.text(title());
    page.table(table(false));
    return page.finish();
  }

 private:
  std::string title() const {
    return fmt::format("{} sequences of {} positions, d_model = {}, {} heads of {}", batch_, length_, d_model_, heads_,
                       d_model_ / heads_);
  }

  // The small T above K is not in the font of the pictures.
  Table table(bool terminal) const {
    Table table{{"name", "shape", "numbers", "MiB in f32", "how"}, {}, {false, false, true, true, false}};
    for (const NamedShape& s : shapes_) {
      const double mebibytes = static_cast<double>(s.numbers()) * 4 / (1 << 20);
      std::string how = s.how;
      if (!terminal && s.name == "scores") how = "q k^T / sqrt(d_k)";
      table.rows.push_back({s.name, fmt::format("({})", fmt::join(s.shape, ", ")), with_commas(s.numbers()),
                            fmt::format("{:.2f}", mebibytes), how});
    }
    return table;
  }

  const CLI::App* app_ = nullptr;
  int64_t d_model_ = 512, heads_ = 8, batch_ = 32, length_ = 128, keys_ = 0;
  std::vector<NamedShape> shapes_;
};

}  // namespace

void add_show_shapes(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"shapes", "the shape of every value inside multi-head attention",
                 "heed show shapes --d-model 200 --heads 5 --batch 128 --length 32"},
                std::make_shared<ShapesShow>());
}

}  // namespace heed::cli
