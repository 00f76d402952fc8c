#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "heed/cli/head_split.h"
#include "heed/cli/page.h"
#include "heed/cli/show.h"
#include "heed/models/parameter_count.h"

namespace heed::cli {
namespace {

using models::Family;
using models::ParameterParts;

const std::vector<std::string> kFamilies = {"encoder-decoder", "encoder", "decoder"};

class ParamsShow : public Show {
 public:
  void flags(CLI::App& app) override {
    app_ = &app;
    add_choice(&app, "--preset", preset_, models::preset_names(), "a known shape; base without any flag");
    add_choice(&app, "--family", family_, kFamilies, "the body");
    add_whole(&app, "--d-model", d_model_, {1, 1 << 20}, "features");
    add_whole(&app, "--layers", layers_, {1, 1000}, "blocks of each stack");
    add_whole(&app, "--heads", heads_, {1, 1 << 14}, "heads of a block");
    add_whole(&app, "--d-ff", d_ff_, {1, 1 << 22}, "width of the feed-forward; four times d_model without it");
    add_whole(&app, "--vocabulary", vocabulary_, {0, int64_t{1} << 28}, "tokens; 0 for the body alone");
  }

  void compute(const Common&) override {
    const auto has = [this](const char* flag) { return given(app_, flag); };
    const bool shaped = has("--family") || has("--d-model") || has("--layers") || has("--heads") || has("--d-ff") ||
                        has("--vocabulary");
    if (preset_.empty() && !shaped) preset_ = "base";
    if (!preset_.empty()) config_ = models::preset(preset_);
    // Another body has the preset's shape: a preset of one stack fills the one that it lacks.
    if (!preset_.empty() && config_.family == Family::kEncoder) config_.decoder = config_.encoder;
    if (!preset_.empty() && config_.family == Family::kDecoder) config_.encoder = config_.decoder;
    if (!family_.empty())
      config_.family = static_cast<Family>(std::find(kFamilies.begin(), kFamilies.end(), family_) - kFamilies.begin());
    for (nn::StackConfig* stack : {&config_.encoder, &config_.decoder}) {
      if (d_model_ > 0) stack->d_ff = 4 * d_model_;
      if (d_model_ > 0) stack->d_model = d_model_;
      if (layers_ > 0) stack->layers = layers_;
      if (heads_ > 0) stack->heads = heads_;
      if (heads_ > 0) stack->kv_heads = 0;
      if (d_ff_ > 0) stack->d_ff = d_ff_;
    }
    if (given(app_, "--vocabulary")) config_.vocabulary = config_.source_vocabulary = vocabulary_;
    const nn::StackConfig& s = config_.main_stack();
    head_size(place(app_), s.d_model, s.heads);
    parts_ = models::parameter_parts(config_);
    block_ = models::block_parts(s, false);
  }

  std::string text(const Style& style) const override {
    std::string out = heading(style, fmt::format("{} parameters", with_commas(parts_.total())), title()) + "\n";
    out += table_text(table(style), style);
    out += fmt::format("\nthe stacks alone {}   ", with_commas(parts_.body()));
    out += fmt::format("in memory {} as f32, {} while Adam trains it\n", size(4), size(16));
    if (const int64_t with = body_with_final_norms(); with > 0) {
      out += fmt::format(
          "PyTorch's nn.Transformer of this shape has {}: {} more, the gain and bias of a norm\n"
          "after the last block of each stack, which this model does without\n",
          with_commas(with), with_commas(with - parts_.body()));
    }
    out += section(style, "one block with self-attention", fmt::format("{} parameters", with_commas(block_.body())));
    out += fmt::format("  attention    {:>14}  {:5.1f} %\n", with_commas(block_.self_attention),
                       percent(block_.self_attention));
    out += fmt::format("  feed-forward {:>14}  {:5.1f} %{}\n", with_commas(block_.feed_forward),
                       percent(block_.feed_forward),
                       std::abs(percent(block_.feed_forward) - 66.7) < 1 ? "   two thirds" : "");
    out += fmt::format("  norms        {:>14}  {:5.1f} %\n", with_commas(block_.norms), percent(block_.norms));
    return out;
  }

  Json json() const override {
    const auto tell = [](const ParameterParts& p) {
      return Json{{"embedding", p.embedding},
                  {"positions", p.positions},
                  {"self_attention", p.self_attention},
                  {"cross_attention", p.cross_attention},
                  {"feed_forward", p.feed_forward},
                  {"norms", p.norms},
                  {"output", p.output}};
    };
    const nn::StackConfig& s = config_.main_stack();
    Json out = {{"show", "params"},
                {"family", kFamilies[static_cast<size_t>(config_.family)]},
                {"layers", s.layers},
                {"d_model", s.d_model},
                {"heads", s.heads},
                {"d_ff", s.d_ff},
                {"vocabulary", config_.vocabulary}};
    if (!preset_.empty()) out["preset"] = preset_;
    out["total"] = parts_.total();
    out["stacks"] = parts_.body();
    if (const int64_t with = body_with_final_norms(); with > 0) out["stacks_with_final_norms"] = with;
    out["parts"] = tell(parts_);
    out["block"] = tell(block_);
    out["feed_forward_share_of_block"] = percent(block_.feed_forward) / 100;
    return out;
  }

  Scene picture() const override {
    Page page(fmt::format("{} parameters", with_commas(parts_.total())));
    page.text(title());
    Bars all{"where they are", {}}, block{"in one block with self-attention", {}};
    for (const auto& [name, count] : rows()) {
      all.bars.push_back({name, static_cast<double>(count),
                          fmt::format("{}   {:.1f} %", with_commas(count), share(count, parts_.total()))});
    }
    for (const auto& [name, count] :
         {std::pair{"attention", block_.self_attention}, std::pair{"feed-forward", block_.feed_forward},
          std::pair{"norms", block_.norms}}) {
      block.bars.push_back(
          {name, static_cast<double>(count), fmt::format("{}   {:.1f} %", with_commas(count), percent(count))});
    }
    page.bars(all);
    page.bars(block);
    return page.finish();
  }

 private:
  static double share(int64_t part, int64_t all) {
    return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
  }
  double percent(int64_t of_block) const { return share(of_block, block_.body()); }

  std::string size(int64_t bytes) const {
    const double all = static_cast<double>(parts_.total() * bytes) / (1 << 20);
    return all < 1       ? fmt::format("{:.1f} KiB", all * 1024)
           : all < 10240 ? fmt::format("{:.1f} MiB", all)
                         : fmt::format("{:.1f} GiB", all / 1024);
  }

  std::string title() const {
    const nn::StackConfig& s = config_.main_stack();
    return fmt::format("{}{}: {} layers{}, d_model {}, {} heads, d_ff {}{}", preset_.empty() ? "" : preset_ + ", ",
                       kFamilies[static_cast<size_t>(config_.family)], s.layers,
                       config_.family == Family::kEncoderDecoder ? " on each side" : "", s.d_model, s.heads, s.d_ff,
                       config_.vocabulary > 0 ? fmt::format(", vocabulary {}", with_commas(config_.vocabulary)) : "");
  }

  int64_t body_with_final_norms() const {
    if (config_.family != Family::kEncoderDecoder || config_.encoder.final_norm || config_.decoder.final_norm) return 0;
    models::ModelConfig with = config_;
    with.encoder.final_norm = with.decoder.final_norm = true;
    return models::parameter_parts(with).body();
  }

  std::vector<std::pair<std::string, int64_t>> rows() const {
    std::vector<std::pair<std::string, int64_t>> rows;
    for (const auto& [name, count] :
         {std::pair{"embedding", parts_.embedding}, std::pair{"positions", parts_.positions},
          std::pair{"self-attention", parts_.self_attention}, std::pair{"cross-attention", parts_.cross_attention},
          std::pair{"feed-forward", parts_.feed_forward}, std::pair{"norms", parts_.norms},
          std::pair{"output", parts_.output}}) {
      if (count > 0) rows.emplace_back(name, count);
    }
    return rows;
  }

  Table table(const Style& style) const {
    Table table{{"part", "parameters", "share", ""}, {}, {false, true, true, false}};
    for (const auto& [name, count] : rows()) {
      std::string bar;
      for (int64_t i = 0; i < std::lround(share(count, parts_.total()) / 2.5); ++i) bar += "█";
      table.rows.push_back({name, with_commas(count), fmt::format("{:.1f} %", share(count, parts_.total())),
                            in_colour(style, series_colour(0), bar)});
    }
    return table;
  }

  const CLI::App* app_ = nullptr;
  std::string preset_, family_;
  int64_t d_model_ = 0, layers_ = 0, heads_ = 0, d_ff_ = 0, vocabulary_ = 0;
  models::ModelConfig config_;
  ParameterParts parts_, block_;
};

}  // namespace

void add_show_params(CLI::App& show, const Common& common) {
  add_show_kind(show, common,
                {"params", "where the parameters are",
                 "heed show params --preset base\n  heed show params --d-model 16 --heads 4 --layers 2 --d-ff 32"},
                std::make_shared<ParamsShow>());
}

}  // namespace heed::cli
