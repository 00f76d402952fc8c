// heed average: one model from several, each weight the mean of theirs.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/arguments.h"
#include "heed/io/mapped_file.h"
#include "heed/models/config_json.h"
#include "heed/models/directory.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFiles[] = {"source.spm",
                                           "target.spm",
                                           "vocab.json",
                                           "target_vocab.json",
                                           "byte_tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json"};

// What must be the same; which head aligns words and how much was dropped in training may differ.
nlohmann::json shape_of(models::ModelConfig config) {
  config.alignment = {};
  config.encoder.dropout = config.decoder.dropout = {};
  return models::heed_json(config);
}

std::string content_of(const fs::path& path) {
  if (!fs::exists(path)) return "";
  const MappedFile file(path.string());
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void check_same_tokenizers(const std::string& a, const std::string& b) {
  for (const char* name : {"source.spm", "target.spm", "vocab.json", "target_vocab.json", "byte_tokenizer.json"}) {
    if (content_of(fs::path(a) / name) != content_of(fs::path(b) / name)) {
      fail("[average] {} of '{}' is not that of '{}': their ids mean different words", name, b, a);
    }
  }
}

models::EncoderDecoder mean_of(const std::vector<std::string>& folders) {
  models::EncoderDecoder mean = models::load_translator(folders[0]);
  std::vector<double> sum(static_cast<size_t>(mean.parameters.arena_size()));
  for (const std::string& folder : folders) {
    const models::EncoderDecoder model = models::load_translator(folder);
    if (shape_of(model.config) != shape_of(mean.config)) {
      fail("[average] '{}' is a model of another shape than '{}': heed info shows both", folder, folders[0]);
    }
    check_same_tokenizers(folders[0], folder);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += double{model.parameters.values()[i]};
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    mean.parameters.values()[i] = static_cast<float>(sum[i] / static_cast<double>(folders.size()));
  }
  return mean;
}

// All of it in a folder beside, which then gets its name: MODEL is there whole or not at all.
void write_whole(const std::string& out, const std::string& like, const models::EncoderDecoder& model) {
  fs::path target = fs::path(out).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  const fs::path beside = target.string() + ".unfinished";
  try {
    fs::create_directories(beside);
    for (const char* name : kTokenizerFiles) {
      if (fs::exists(fs::path(like) / name))
        fs::copy_file(fs::path(like) / name, beside / name, fs::copy_options::overwrite_existing);
    }
    models::save_translator(beside.string(), model);
    fs::rename(beside, target);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(beside, ignored);
    fail_file("[average] cannot write '{}': {}", out, error.code().message());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(beside, ignored);
    throw;
  }
}

void run(const std::vector<std::string>& folders, const std::string& out, const Common& common) {
  if (folders.size() < 2) fail("[average] one model: expected two at least");
  if (fs::exists(out)) fail("[average] '{}' exists already: expected a new folder", out);
  write_whole(out, folders[0], mean_of(folders));
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
