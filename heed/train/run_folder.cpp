#include "heed/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "heed/base/error.h"
#include "heed/data/text_corpus.h"
#include "heed/io/atomic_file.h"
#include "heed/io/fingerprint.h"
#include "heed/io/mapped_file.h"
#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMaxSteps = "train.max_steps", kSaveEvery = "save.save_every";

bool may_change(const std::string& key, const TrainConfig& config) {
  static const std::set<std::string> kAlways = {
      "train.max_epochs", "train.max_minutes", "valid.patience", "valid.samples",
      "save.keep",        "save.tensorboard",  "save.out",       "train.activation_checkpointing"};
  if (key == kMaxSteps) return !needs_total_steps(schedule_kind(config.train.schedule));
  if (key == kSaveEvery) return config.train.average_last == 0;  // else the model is the mean of what is saved
  return kAlways.count(key) > 0;
}

// What heed writes into a model directory, besides tokenizers, train.toml and the folder "training".
constexpr const char* kFiles[] = {"config.json",
                                  "generation_config.json",
                                  "model.safetensors",
                                  "adapter_config.json",
                                  "adapter_model.safetensors",
                                  "metrics.jsonl",
                                  "curves.svg",
                                  "samples.png"};
constexpr const char *kConfig = "train.toml", *kTraining = "training";
constexpr const char *kLock = "lock", *kStaging = "staged", *kPrepared = "prepared", *kFinished = "finished",
                     *kData = "data";

// Of an AtomicFile that was killed.
bool is_temporary(const std::string& name) { return name.starts_with(".heed-") && name.ends_with(".tmp"); }

bool is_store(const std::string& name) {
  return name == "train.pairs" || name == "valid.pairs" || name == "train.ids" || name == "valid.ids";
}

// What a run leaves in the folder "training", besides the lock and what is staged.
bool is_of_a_run(const std::string& name) {
  return name == kPrepared || name == kFinished || name == kData || is_store(name) || name == "tensorboard" ||
         name == "verify.safetensors" || is_temporary(name) ||
         ((name.starts_with("checkpoint-") || name.starts_with("stopped-")) && name.ends_with(".safetensors"));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::is_directory(folder)) return names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

// A start that was killed leaves only this behind.
bool holds_only_a_start(const fs::path& model) {
  for (const std::string& name : names_in(model)) {
    if (name != "training" && !is_temporary(name)) return false;
  }
  for (const std::string& name : names_in(model / "training")) {
    if (name != kLock && name != kStaging && !is_of_a_run(name)) return false;
  }
  return true;
}

// A whole model, or one that is being trained and has no weights yet.
bool is_model(const fs::path& model) {
  const std::vector<std::string> training = names_in(model / "training");
  const bool run = std::any_of(training.begin(), training.end(),
                               [](const std::string& name) { return name == kStaging || is_of_a_run(name); });
  return models::is_model_directory(model.string()) || (run && fs::exists(model / "train.toml"));
}

template <class Config>
auto data_files(Config& config) {
  auto& d = config.data;
  return std::array{&d.src,       &d.tgt,    &d.tsv,          &d.valid_src,   &d.valid_tgt,
                    &d.valid_tsv, &d.text,   &d.valid_text,   &d.chat,        &d.valid_chat,
                    &d.images,    &d.labels, &d.valid_images, &d.valid_labels};
}

// Whether some of the data lies in this folder.
bool reads_from(const TrainConfig& config, const fs::path& folder) {
  const fs::path whole = fs::weakly_canonical(folder);
  for (const auto* files : data_files(config)) {
    for (const std::string& file : *files) {
      const fs::path path = fs::weakly_canonical(file);
      if (std::mismatch(whole.begin(), whole.end(), path.begin(), path.end()).first == whole.end()) return true;
    }
  }
  return false;
}

// The weights that an adapter is trained beside: no checkpoint holds them.
std::vector<std::string> base_files(const TrainConfig& config) {
  std::vector<std::string> files;
  if (!config.model.adapts()) return files;
  for (const std::string& name : names_in(config.model.from)) {
    if (name.ends_with(".safetensors")) files.push_back((fs::path(config.model.from) / name).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// With those that lie in folders; sentences come from files alone.
std::vector<std::string> all_files(const TrainConfig& config) {
  std::vector<std::string> all = base_files(config);
  for (const auto* files : data_files(config)) {
    const TrainConfig::Data& d = config.data;
    const auto may_be_folder = {&d.text, &d.valid_text, &d.chat, &d.valid_chat, &d.images, &d.valid_images};
    const bool folders = std::find(may_be_folder.begin(), may_be_folder.end(), files) != may_be_folder.end();
    const std::vector<std::string> under = folders ? data::files_under(*files) : *files;
    all.insert(all.end(), under.begin(), under.end());
  }
  return all;
}

}  // namespace

TrainConfig with_absolute_paths(TrainConfig config) {
  const auto settle = [](std::string& path) {
    if (!path.empty()) path = fs::absolute(path).lexically_normal().string();
  };
  for (auto* files : data_files(config)) {
    for (std::string& path : *files) settle(path);
  }
  settle(config.model.from);
  settle(config.save.out);
  return config;
}

FolderLock::FolderLock(const std::string& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_file("[train] cannot make '{}': {}", folder, error.message());
  const std::string path = (fs::path(folder) / kLock).string();
  struct stat status {};
  // A file without a name is the lock of one that has just ended, and took it away.
  while (status.st_nlink == 0) {
    file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file_) fail_file("[train] cannot write in '{}': {}", folder, std::strerror(errno));
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      fail_file("[train] '{}' is in use by another process that trains", folder);
    if (::fstat(file_.get(), &status) != 0) fail_file("[train] cannot read '{}': {}", path, std::strerror(errno));
  }
}

FolderLock::~FolderLock() {
  std::error_code ignored;
  fs::remove_all(fs::path(folder_) / kStaging, ignored);
  fs::remove(fs::path(folder_) / kLock, ignored);
}

void check_fresh(const std::string& model, Existing existing) {
  std::error_code error;
  const fs::file_status status = fs::status(model, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail_file("[train] '{}' is a file, expected a folder", model);
  if (fs::is_empty(model)) return;
  const bool started = holds_only_a_start(model);
  if (!started && !is_model(model)) fail("[train] '{}' is no model, and is not empty: expected another folder", model);
  if (existing == Existing::kOverwrite || (existing == Existing::kStarted && started)) return;
  if (existing == Existing::kStarted)
    fail("[train] '{}' holds no run to go on with: --overwrite without --resume replaces it", model);
  fail("[train] '{}' exists already: --resume goes on with it, --overwrite replaces it", model);
}

bool is_of_a_model(const std::string& name) {
  const auto has = [&](const auto& list, auto name_of) {
    return std::any_of(std::begin(list), std::end(list), [&](const auto& item) { return name == name_of(item); });
  };
  return has(kFiles, [](const char* file) { return file; }) ||
         has(text::tokenizer_files(), [](const text::TokenizerFile& file) { return file.name; }) || name == kConfig ||
         name == kTraining || name == "model.safetensors.index.json" ||
         (name.starts_with("model-") && name.ends_with(".safetensors")) || is_temporary(name);
}

void clear_model(const TrainConfig& config) {
  const std::string& model = config.save.out;
  fs::remove(prepared_mark(model));  // first: from here on nothing that is left counts
  const fs::path training = fs::path(model) / "training";
  const bool own_data = reads_from(config, training / kData);
  for (const std::string& name : names_in(training)) {
    if (is_of_a_run(name) && !(own_data && name == kData)) fs::remove_all(training / name);
  }
  for (const std::string& name : names_in(model)) {
    if (is_of_a_model(name) && name != kConfig && name != kTraining) fs::remove(fs::path(model) / name);
  }
}

void clear_temporaries(const std::string& model) {
  for (const fs::path& folder : {fs::path(model), fs::path(model) / kTraining}) {
    for (const std::string& name : names_in(folder)) {
      if (is_temporary(name)) fs::remove(folder / name);
    }
  }
}

std::string staging_of(const std::string& model) { return (fs::path(model) / "training" / kStaging).string(); }

void take_staged(const std::string& model) {
  const fs::path training = fs::path(model) / "training";
  for (const fs::directory_entry& entry : fs::directory_iterator(training / kStaging)) {
    const fs::path name = entry.path().filename();
    fs::rename(entry.path(), (is_store(name.string()) ? training : fs::path(model)) / name);
  }
  fs::remove(training / kStaging);
}

NewFolders::NewFolders(const std::string& model) {
  std::error_code ignored;
  for (fs::path path = fs::path(model) / "training"; !path.empty() && !fs::exists(path, ignored);
       path = path.parent_path()) {
    new_.push_back(path.string());
  }
}

NewFolders::~NewFolders() {
  std::error_code ignored;
  for (const std::string& path : new_) fs::remove(path, ignored);
}

void check_same_task(const TrainConfig& before, const TrainConfig& now) {
  if (before.task != now.task)
    fail("[train] the run that was saved is another one: task was {}, is {}", before.task, now.task);
}

void check_same_run(const TrainConfig& before, const TrainConfig& now) {
  check_same_task(before, now);
  TrainConfig a = before, b = now, settled_a = with_absolute_paths(a), settled_b = with_absolute_paths(b);
  const std::vector<ConfigField> was = config_fields(a), is = config_fields(b);
  const std::vector<ConfigField> settled_was = config_fields(settled_a), settled_is = config_fields(settled_b);
  std::vector<std::string> changed;
  for (size_t i = 0; i < was.size(); ++i) {
    if (value_text(settled_was[i]) == value_text(settled_is[i]) || may_change(was[i].key, before)) continue;
    changed.push_back(fmt::format("{} was {}, is {}", was[i].key, value_text(was[i]), value_text(is[i])));
    if (was[i].key == kMaxSteps) changed.back() += fmt::format(" (the {} schedule ends there)", before.train.schedule);
    if (was[i].key == kSaveEvery) changed.back() += " (train.average_last takes the mean of what is saved)";
  }
  if (!changed.empty()) fail("[train] the run that was saved is another one: {}", fmt::join(changed, "; "));
}

void check_data_files(const TrainConfig& config) {
  for (const std::string& path : all_files(config)) MappedFile{path};
}

std::string data_fingerprint(const TrainConfig& config, const std::function<void(double share)>& at) {
  constexpr size_t kPiece = size_t{16} << 20;  // in whole words of the hash, so that pieces do not change it
  const std::vector<std::string> paths = all_files(with_absolute_paths(config));
  size_t all = 0, done = 0;
  for (const std::string& path : paths) all += MappedFile(path).bytes().size();
  std::string text;
  for (const std::string& path : paths) {
    const MappedFile file(path);
    uint64_t hash = kFingerprintStart;
    for (std::span<const std::byte> left = file.bytes(); !left.empty();) {
      const std::span<const std::byte> piece = left.first(std::min(kPiece, left.size()));
      hash = fingerprint(piece, hash);
      left = left.subspan(piece.size()), done += piece.size();
      if (at && piece.size() == kPiece) at(static_cast<double>(done) / static_cast<double>(std::max(all, done)));
    }
    text += fmt::format("'{}' of {} bytes {:016x}\n", printable(path), file.bytes().size(), hash);
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

std::string prepared_mark(const std::string& model) { return (fs::path(model) / "training" / kPrepared).string(); }
std::string finished_mark(const std::string& model) { return (fs::path(model) / "training" / kFinished).string(); }

void stage_kept_data(const TrainConfig& config) {
  const fs::path to = fs::path(staging_of(config.save.out)) / kData;
  fs::create_directories(to);
  for (const auto* files : data_files(config)) {
    for (const std::string& path : *files) {
      fs::copy_file(path, to / fs::path(path).filename(), fs::copy_options::overwrite_existing);
    }
  }
}

void take_kept_data(TrainConfig& config) {
  const fs::path to = fs::absolute(fs::path(config.save.out) / kTraining / kData);
  fs::remove_all(to);
  fs::rename(fs::path(staging_of(config.save.out)) / kData, to);
  for (auto* files : data_files(config)) {
    for (std::string& path : *files) path = (to / fs::path(path).filename()).string();
  }
}

}  // namespace heed::train
