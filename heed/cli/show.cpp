#include "heed/cli/show.h"

#include <fmt/format.h>

#include "heed/base/error.h"

namespace heed::cli {

#define HEED_SHOW(name) void add_show_##name(CLI::App& show, const Common& common);
#include "heed/cli/shows.inc"
#undef HEED_SHOW

void add_show(CLI::App& parent, const Common& common) {
  CLI::App* show = add_command(parent, "show", "the mathematics step by step, with numbers and pictures",
                               "heed show attention\n  heed show positions --length 10 --dim 8 --out positions.svg");
#define HEED_SHOW(name) add_show_##name(*show, common);
#include "heed/cli/shows.inc"
#undef HEED_SHOW
  print_help_alone(show);
}

void add_show_kind(CLI::App& show, const Common& common, const ShowWords& words, const std::shared_ptr<Show>& kind) {
  CLI::App* app = add_command(show, words.name, words.summary, words.example);
  kind->flags(*app);
  const auto out = std::make_shared<std::string>();
  add_text(app, "--out", *out, "also draw it: a file that ends with .svg or .png", "FILE");
  on_run(app, [app, out, kind, &common] {
    const bool drawn = given(app, "--out");
    if (drawn) check_picture_path(place(app), *out);
    kind->compute(common);
    const Scene picture = drawn ? kind->picture() : Scene{};
    print(common.json ? kind->json().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                      : kind->text(stdout_style()));
    if (!drawn) return;
    write_picture(*out, picture);  // last: where the text could not be told, nothing is left behind
    const bool framed = out->ends_with(".png") && !has_all_characters(picture);
    message(common,
            fmt::format("wrote {}{}", *out, framed ? "; some characters are empty frames there, a .svg has them" : ""));
  });
}

Json rows_of(const Grid& grid) {
  Json rows = Json::array();
  for (int64_t r = 0; r < grid.rows; ++r) {
    Json row = Json::array();
    for (int64_t c = 0; c < grid.columns; ++c) row.push_back(grid.at(r, c));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace heed::cli
