#include "heed/cli/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>  // renameat2
#include <unistd.h>

#include "heed/base/error.h"
#include "heed/models/directory.h"
#include "heed/text/tokenizer.h"
#include "heed/train/run_folder.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

// A new folder beside `target`, nobody else's, which is gone at the end unless it got its name.
class FolderBeside {
 public:
  explicit FolderBeside(const fs::path& target) {
    if (target.has_parent_path()) fs::create_directories(target.parent_path());
    int64_t number = 0;
    do {
      path_ = fmt::format("{}.{}-{}", target.string(), ::getpid(), number++);
    } while (!fs::create_directory(path_));  // false: it was there
  }
  ~FolderBeside() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The names of the two are exchanged at once.
void exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  throw fs::filesystem_error("exchange", a, b, std::error_code(errno, std::generic_category()));
}

// What lay beside the old model and is no part of it lies beside the new one.
void keep_others(const fs::path& old, const fs::path& now) {
  for (const fs::directory_entry& entry : fs::directory_iterator(old)) {
    const fs::path name = entry.path().filename();
    if (!train::is_of_a_model(name.string()) && !fs::exists(now / name)) fs::rename(entry.path(), now / name);
  }
}

// A run that trains there, or could go on there, is worth more than the model that would take its place.
void refuse_run(const std::string& command, const fs::path& model) {
  const fs::path training = model / "training";
  if (!fs::exists(training)) return;
  { const train::FolderLock nobody_trains(training.string()); }
  if (fs::is_empty(training)) return;
  fail("[{}] '{}' holds the checkpoints of a run: expected another --out, or remove '{}'", command, model.string(),
       training.string());
}

}  // namespace

NewFolder::NewFolder(std::string command, const std::string& path, bool overwrite)
    : command_(std::move(command)), target_(fs::path(path).lexically_normal()), replace_(fs::exists(path)) {
  if (!target_.has_filename()) target_ = target_.parent_path();
  if (!replace_) return;
  if (!overwrite) fail("[{}] '{}' exists already: expected a new folder, or --overwrite", command_, path);
  if (!models::is_model_directory(path)) fail("[{}] '{}' is no model: it is not replaced", command_, path);
  refuse_run(command_, target_);
}

void NewFolder::write(const std::function<void(const std::string&)>& write) const try {
  const FolderBeside beside(target_);
  write(beside.path().string());
  if (!replace_) return fs::rename(beside.path(), target_);
  refuse_run(command_, target_);  // one may have begun by now
  exchange(beside.path(), target_);
  try {
    keep_others(beside.path(), target_);
  } catch (const fs::filesystem_error&) {
    exchange(beside.path(), target_);  // as it was: nothing of the owner's goes
    throw;
  }
} catch (const fs::filesystem_error& error) {
  fail_file("[{}] cannot write '{}': {}", command_, target_.string(), error.code().message());
}

void copy_tokenizer(const std::string& from, const std::string& to) {
  for (const text::TokenizerFile& file : text::tokenizer_files()) {
    if (fs::exists(fs::path(from) / file.name)) fs::copy_file(fs::path(from) / file.name, fs::path(to) / file.name);
  }
}

}  // namespace heed::cli
