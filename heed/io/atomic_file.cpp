#include "heed/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr size_t kGather = 1 << 16;
constexpr mode_t kNewFileMode = 0666;  // less the umask

[[noreturn]] void cannot_write(const std::string& path, const std::string& reason) {
  fail_file("[write] cannot write '{}': {}", printable(path), reason);
}

std::string in_words(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "the disk quota is used up";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "the file system is read-only";
    default:
      return std::generic_category().message(error);
  }
}

fs::path follow_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    if (i == kMostLinks) cannot_write(path.string(), in_words(ELOOP));
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) cannot_write(path.string(), in_words(error.value()));
  }
  return target;
}

std::string link_of(const FileDescriptor& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

}  // namespace

AtomicFile::AtomicFile(std::string path, FileCalls calls) : path_(std::move(path)), calls_(std::move(calls)) {
  if (path_.empty()) cannot_write(path_, "the file name is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) cannot_write(path_, "it is a folder");
  if (fs::is_character_file(status) || fs::is_fifo(status)) {
    direct_ = true;
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_) failed(errno);
    return;
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) cannot_write(path_, "it is not a regular file");
  if (fs::exists(status) && ::access(path_.c_str(), W_OK) != 0) failed(errno);

  const fs::path target = follow_links(path_);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  target_ = target.string();
  folder_ = folder.string();
  const fs::file_status folder_status = fs::status(folder, error);
  if (folder_status.type() == fs::file_type::not_found) {
    cannot_write(path_, fmt::format("folder '{}' does not exist", printable(folder_)));
  }
  if (fs::exists(folder_status) && !fs::is_directory(folder_status)) {
    cannot_write(path_, fmt::format("'{}' is not a folder", printable(folder_)));
  }
  if (!target.has_filename()) cannot_write(path_, "it names a folder, expected a file");
  open_temporary();
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0) ::fchmod(file_.get(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::open_temporary() {
  if (calls_.unnamed_temporary && open_unnamed()) return;
  name_temporary([this](const char* name) {
    file_ = FileDescriptor(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode));
    return static_cast<bool>(file_);
  });
}

// Without a name in the folder, even a killed program leaves nothing behind. It gets its name through /proc.
bool AtomicFile::open_unnamed() {
  FileDescriptor file(::open(folder_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kNewFileMode));
  if (!file || ::access(link_of(file).c_str(), F_OK) != 0) return false;
  file_ = std::move(file);
  return true;
}

// Tries names in the folder until `create` gets one that was free.
void AtomicFile::name_temporary(const std::function<bool(const char*)>& create) {
  static std::atomic<int> counter{0};
  for (;;) {
    const fs::path name = fs::path(folder_) / fmt::format(".heed-{}-{}.tmp", ::getpid(), counter++);
    if (create(name.c_str())) {
      temporary_ = name.string();
      return;
    }
    if (errno != EEXIST) failed(errno);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (pending_.size() + bytes.size() <= kGather) {
    pending_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return;
  }
  write_through(std::as_bytes(std::span(pending_)));
  pending_.clear();
  write_through(bytes);
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = calls_.write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) failed(written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  write_through(std::as_bytes(std::span(pending_)));
  pending_.clear();
  if (direct_) return;
  if (calls_.sync(file_.get()) != 0) failed(errno);
  if (temporary_.empty()) {
    name_temporary([this](const char* name) {
      return ::linkat(AT_FDCWD, link_of(file_).c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
  }
  if (calls_.rename(temporary_.c_str(), target_.c_str()) != 0) failed(errno);
  temporary_.clear();
  sync_folder();
}

// The new name itself survives a power cut only when the folder is on disk too.
void AtomicFile::sync_folder() {
  const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder (EINVAL), some folders may be written but not read: the file is there.
  if (folder && calls_.sync(folder.get()) != 0 && errno != EINVAL) failed(errno);
}

void AtomicFile::failed(int error) const { cannot_write(path_, in_words(error)); }

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void write_file_atomically(const std::string& path, const std::function<void(AtomicFile&)>& writer) {
  AtomicFile file(path);
  writer(file);
  file.commit();
}

}  // namespace heed
