// heed average: one model from several, each weight the mean of theirs.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/models/config_json.h"
#include "heed/models/directory.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

void run(const std::vector<std::string>& folders, const std::string& out, const Common& common) {
  if (folders.size() < 2) fail("[average] {} model: expected two at least", folders.size());
  if (fs::exists(out)) fail("[average] '{}' exists already: expected a new folder", out);
  const models::EncoderDecoder first = models::load_translator(folders[0]);
  const nlohmann::json shape = models::heed_json(first.config);
  std::vector<double> sum(static_cast<size_t>(first.parameters.arena_size()));
  for (const std::string& folder : folders) {
    const models::EncoderDecoder model = models::load_translator(folder);
    if (models::heed_json(model.config) != shape)
      fail("[average] '{}' is another kind of model than '{}'", folder, folders[0]);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{model.parameters.values()[i]};
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    first.parameters.values()[i] = static_cast<float>(sum[i] / static_cast<double>(folders.size()));
  }
  std::error_code error;
  if (!fs::create_directory(out, error)) fail_file("[average] cannot make '{}': {}", out, error.message());
  for (const fs::directory_entry& entry : fs::directory_iterator(folders[0])) {
    const std::string name = entry.path().filename().string();
    const bool tokenizer =
        name.ends_with(".spm") || name.find("vocab") != std::string::npos || name.find("token") != std::string::npos;
    if (tokenizer && entry.is_regular_file()) fs::copy_file(entry.path(), fs::path(out) / name);
  }
  models::save_translator(out, first);
  message(common, fmt::format("the mean of {} models is in '{}'", folders.size(), out));
}

}  // namespace

void add_average(CLI::App& parent, const Common& common) {
  CLI::App* app =
      add_command(parent, "average", "the mean of several models", "heed average --out MEAN MODEL1 MODEL2 MODEL3");
  const auto folders = std::make_shared<std::vector<std::string>>();
  const auto out = std::make_shared<std::string>();
  app->add_option("MODEL", *folders, "model directories of one shape")->required();
  app->add_option("--out", *out, "the directory to write")->required()->type_name("MEAN");
  app->callback([folders, out, &common] { run(*folders, *out, common); });
}

}  // namespace heed::cli
