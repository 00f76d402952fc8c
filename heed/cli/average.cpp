// heed average: one model from several, each weight the mean of theirs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/cli/new_folder.h"
#include "heed/io/mapped_file.h"
#include "heed/models/config_json.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

bool ends_nowhere(const nn::PositionConfig& positions) { return positions.kind == nn::PositionKind::kSinusoidal; }

// What must be the same. Which head aligns words, how much was dropped in training and how long its lines were may differ,
// and so may the number of sines that are written down: they go on.
nlohmann::json shape_of(models::ModelConfig config) {
  config.alignment = {};
  config.trained_length = 0;
  for (nn::StackConfig* stack : {&config.encoder, &config.decoder}) {
    stack->dropout = {};
    if (ends_nowhere(stack->positions)) stack->positions.max_length = 1;
  }
  return models::heed_json(config);
}

// The first key that differs, with both values: "decoder.heads is 4, and 8 there".
std::string difference(const nlohmann::json& shape, const nlohmann::json& other) {
  const nlohmann::json ours = shape.flatten(), theirs = other.flatten();
  const auto text = [](const nlohmann::json& values, const std::string& key) {
    return values.contains(key) ? values[key].dump() : "nothing";
  };
  for (const nlohmann::json* keys : {&ours, &theirs}) {
    for (const auto& [key, value] : keys->items()) {
      if (text(ours, key) == text(theirs, key)) continue;
      std::string name = key.substr(1);  // of a JSON pointer: "/decoder/heads"
      std::replace(name.begin(), name.end(), '/', '.');
      return fmt::format("{} is {}, and {} there", name, text(ours, key), text(theirs, key));
    }
  }
  return "";
}

// A mean knows lines as long as any of its models did.
void take_longer(models::ModelConfig& mean, const models::ModelConfig& one) {
  mean.trained_length = std::max(mean.trained_length, one.trained_length);
  const std::pair<nn::StackConfig*, const nn::StackConfig*> stacks[] = {{&mean.encoder, &one.encoder},
                                                                        {&mean.decoder, &one.decoder}};
  for (const auto& [to, from] : stacks)
    to->positions.max_length = std::max(to->positions.max_length, from->positions.max_length);
}

bool same_content(const fs::path& a, const fs::path& b) {
  if (!fs::exists(a) || !fs::exists(b)) return fs::exists(a) == fs::exists(b);
  const MappedFile first(a.string()), second(b.string());
  return std::ranges::equal(first.bytes(), second.bytes());
}

void check_same_tokenizers(const std::string& a, const std::string& b) {
  for (const text::TokenizerFile& file : text::tokenizer_files()) {
    if (file.role != text::TokenizerFile::kPieces || same_content(fs::path(a) / file.name, fs::path(b) / file.name))
      continue;
    fail("[average] {} of '{}' is not that of '{}': their ids mean different words", file.name, b, a);
  }
}

models::EncoderDecoder mean_of(const std::vector<std::string>& folders) {
  models::EncoderDecoder mean = models::load_translator(folders[0]);
  std::vector<double> sum(static_cast<size_t>(mean.parameters.arena_size()));
  for (const std::string& folder : folders) {
    const models::EncoderDecoder model = models::load_translator(folder);
    if (const std::string apart = difference(shape_of(model.config), shape_of(mean.config)); !apart.empty())
      fail("[average] '{}' is a model of another shape than '{}': {}", folder, folders[0], apart);
    take_longer(mean.config, model.config);
    check_same_tokenizers(folders[0], folder);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{model.parameters.values()[i]};
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    mean.parameters.values()[i] = static_cast<float>(sum[i] / static_cast<double>(folders.size()));
  }
  return mean;
}

void run(const std::vector<std::string>& folders, const std::string& out, bool overwrite, const Common& common) {
  if (folders.size() < 2) fail("[average] one model: expected two at least");
  const NewFolder folder("average", out, overwrite);
  const models::EncoderDecoder mean = mean_of(folders);
  folder.write([&](const std::string& path) {
    copy_tokenizer(folders[0], path);
    models::save_translator(path, mean);
  });
  message(common, fmt::format("the mean of {} models is in '{}'", folders.size(), out));
}

}  // namespace

void add_average(CLI::App& parent, const Common& common) {
  CLI::App* app =
      add_command(parent, "average", "the mean of several models", "heed average --out MEAN MODEL1 MODEL2 MODEL3");
  const auto folders = std::make_shared<std::vector<std::string>>();
  const auto out = std::make_shared<std::string>();
  add_texts(app, "MODEL", *folders, "model directories of one shape", "", Need::kRequired);
  add_text(app, "--out", *out, "the directory to write", "MEAN", Need::kRequired);
  const auto overwrite = std::make_shared<bool>(false);
  add_flag(app, "--overwrite", *overwrite, "replace an existing model");
  on_run(app, [folders, out, overwrite, &common] { run(*folders, *out, *overwrite, common); });
}

}  // namespace heed::cli
