#include "heed/cli/adapters.h"

#include <fmt/format.h>

#include "heed/models/lora.h"

namespace heed::cli {

void add_model(CLI::App* app, std::string& model, std::string& base) {
  add_text(app, "MODEL", model, "a model directory, or that of an adapter", "", Need::kRequired);
  add_text(app, "--base", base, "the model of an adapter, where its adapter_config.json does not say where it lies",
           "MODEL");
}

void tell_adapter(const models::ModelFolder& folder, const Common& common) {
  if (models::is_adapter(folder.path))
    message(common, fmt::format("'{}' is an adapter of '{}'", folder.path, models::base_of(folder)));
}

}  // namespace heed::cli
