// `heed show KIND`: a show computes once and is told in three forms. One file a kind, one line in shows.inc to add it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "heed/cli/arguments.h"
#include "heed/cli/program.h"
#include "heed/cli/render.h"
#include "heed/cli/scene.h"

namespace heed::cli {

using Json = nlohmann::ordered_json;

class Show {
 public:
  virtual ~Show() = default;
  virtual void flags(CLI::App& app) = 0;
  virtual void compute(const Common& common) = 0;
  virtual std::string text(const Style& style) const = 0;
  virtual Json json() const = 0;
  virtual Scene picture() const = 0;
};

struct ShowWords {
  const char *name, *summary, *example;
};
void add_show_kind(CLI::App& show, const Common& common, const ShowWords& words, const std::shared_ptr<Show>& kind);

// Rows of numbers; -inf, which JSON does not have, is null.
Json rows_of(const Grid& grid);

}  // namespace heed::cli
