#include "heed/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "heed/base/error.h"
#include "heed/io/mapped_file.h"

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

// FNV-1a over words of eight bytes: tells files apart, nothing more.
uint64_t hash(std::span<const std::byte> bytes) {
  uint64_t h = 0xcbf29ce484222325;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = (h ^ word) * 0x100000001b3;
    h ^= h >> 29;
  }
  for (; i < bytes.size(); ++i) h = (h ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3;
  return h;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/lock";
  file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) fail_file("[train] cannot write in '{}': {}", folder, std::strerror(errno));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    fail_file("[train] '{}' is in use by another process that trains", folder);
}

void make_fresh(const std::string& model, bool overwrite) {
  std::error_code error;
  if (fs::exists(model, error) && !fs::is_directory(model, error))
    fail_file("[train] '{}' is a file, expected a folder", model);
  if (fs::exists(model, error) && !fs::is_empty(model, error)) {
    if (!overwrite) fail("[train] '{}' exists already: --resume goes on with it, --overwrite replaces it", model);
    for (const char* name :
         {"training", "config.json", "generation_config.json", "model.safetensors", "source.spm", "target.spm",
          "vocab.json", "target_vocab.json", "tokenizer_config.json", "special_tokens_map.json", "byte_tokenizer.json",
          "train.toml", "metrics.jsonl", "curves.svg"}) {
      fs::remove_all(fs::path(model) / name, error);
    }
  }
  fs::create_directories(fs::path(model) / "training", error);
  if (error) fail_file("[train] cannot make '{}': {}", model, error.message());
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
      text += fmt::format("{} {} bytes {:016x}\n", path, file.bytes().size(), hash(file.bytes()));
    }
  }
  return text;
}

}  // namespace heed::train
