// Commands that run a language model take the directory of an adapter, too.
#pragma once

#include "heed/cli/arguments.h"
#include "heed/models/directory.h"

namespace heed::cli {

// MODEL and --base.
void add_model(CLI::App* app, std::string& model, std::string& base);
// Says that an adapter is one, and of what.
void tell_adapter(const models::ModelFolder& folder, const Common& common);

}  // namespace heed::cli
