#include "heed/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "heed/base/error.h"
#include "heed/io/fingerprint.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

const std::set<std::string> kMayChange = {"train.max_steps", "train.max_epochs", "train.max_minutes", "valid.patience",
                                          "valid.samples",   "save.keep",        "save.tensorboard",  "save.out"};

std::string text_of(const ConfigField& field) {
  return std::visit(
      [](const auto* value) {
        if constexpr (std::is_same_v<decltype(value), const std::vector<std::string>*>) {
          return fmt::format("[{}]", fmt::join(*value, ", "));
        } else {
          return fmt::format("{}", *value);
        }
      },
      field.value);
}

// What heed writes into a model directory, besides the folder "training".
constexpr const char* kFiles[] = {"config.json",
                                  "generation_config.json",
                                  "model.safetensors",
                                  "source.spm",
                                  "target.spm",
                                  "vocab.json",
                                  "target_vocab.json",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "byte_tokenizer.json",
                                  "train.toml",
                                  "metrics.jsonl",
                                  "curves.svg"};
constexpr const char *kLock = "lock", *kStaging = "staged";

// A killed start leaves only this behind.
bool holds_only_training(const fs::path& model) {
  for (const fs::directory_entry& entry : fs::directory_iterator(model)) {
    if (entry.path().filename() != "training") return false;
  }
  return true;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_file("[train] cannot make '{}': {}", folder, error.message());
  const std::string path = (fs::path(folder) / kLock).string();
  file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) fail_file("[train] cannot write in '{}': {}", folder, std::strerror(errno));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    fail_file("[train] '{}' is in use by another process that trains", folder);
}

void check_fresh(const std::string& model, Existing existing) {
  std::error_code error;
  const fs::file_status status = fs::status(model, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail_file("[train] '{}' is a file, expected a folder", model);
  const bool free = fs::is_empty(model) || (existing == Existing::kStarted && holds_only_training(model));
  if (free || existing == Existing::kOverwrite) return;
  if (existing == Existing::kStarted) {
    fail("[train] '{}' holds no run to go on with, and is not empty: --overwrite without --resume replaces it", model);
  }
  fail("[train] '{}' exists already: --resume goes on with it, --overwrite replaces it", model);
}

void clear_model(const std::string& model) {
  for (const char* name : kFiles) fs::remove(fs::path(model) / name);
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(model) / "training")) {
    if (entry.path().filename() != kLock && entry.path().filename() != kStaging) fs::remove_all(entry.path());
  }
}

std::string staging_of(const std::string& model) { return (fs::path(model) / "training" / kStaging).string(); }

void take_staged(const std::string& model) {
  const fs::path training = fs::path(model) / "training";
  for (const fs::directory_entry& entry : fs::directory_iterator(training / kStaging)) {
    const fs::path name = entry.path().filename();
    fs::rename(entry.path(), (name.extension() == ".pairs" ? training : fs::path(model)) / name);
  }
  fs::remove(training / kStaging);
}

NewFolders::NewFolders(const std::string& model) : model_(model) {
  std::error_code ignored;
  for (fs::path path = fs::path(model) / "training"; !path.empty() && !fs::exists(path, ignored);
       path = path.parent_path()) {
    new_.push_back(path.string());
  }
}

NewFolders::~NewFolders() {
  if (kept_) return;
  std::error_code ignored;
  fs::remove_all(staging_of(model_), ignored);
  if (!new_.empty()) fs::remove(fs::path(model_) / "training" / kLock, ignored);
  for (const std::string& path : new_) fs::remove(path, ignored);
}

void check_same_run(const TrainConfig& before, const TrainConfig& now) {
  TrainConfig a = before, b = now;
  const std::vector<ConfigField> was = config_fields(a), is = config_fields(b);
  std::vector<std::string> changed;
  for (size_t i = 0; i < was.size(); ++i) {
    const std::string left = text_of(was[i]), right = text_of(is[i]);
    if (left != right && !kMayChange.count(was[i].key))
      changed.push_back(fmt::format("{} was {}, is {}", was[i].key, left, right));
  }
  if (!changed.empty()) fail("[train] the run that was saved is another one: {}", fmt::join(changed, "; "));
}

std::string data_fingerprint(const TrainConfig& config) {
  const TrainConfig::Data& d = config.data;
  std::string text;
  for (const auto* files : {&d.src, &d.tgt, &d.tsv, &d.valid_src, &d.valid_tgt, &d.valid_tsv}) {
    for (const std::string& path : *files) {
      const MappedFile file(path);
      text +=
          fmt::format("'{}' of {} bytes {:016x}\n", printable(path), file.bytes().size(), fingerprint(file.bytes()));
    }
  }
  return text;
}

std::string changed_files(const std::string& before, const std::string& now) {
  std::vector<std::string> changed;
  std::istringstream lines(now);
  for (std::string line; std::getline(lines, line);) {
    // The hash, which ends a line, says nothing to a person.
    if (("\n" + before).find("\n" + line + "\n") == std::string::npos)
      changed.push_back(line.substr(0, line.rfind(' ')));
  }
  return changed.empty() ? "a file is no longer named" : fmt::format("{}", fmt::join(changed, ", "));
}

}  // namespace heed::train
