#include "heed/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "heed/base/error.h"
#include "heed/io/file_descriptor.h"
#include "heed/io/printable.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_read(const std::string& path, const std::string& reason) {
  fail_file("[read] cannot read '{}': {}", printable(path), reason);
}

std::string missing_reason(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return fmt::format("folder '{}' does not exist", printable(folder.string()));
  std::vector<std::string> names;
  constexpr size_t kNamesToCompare = 1000;
  for (fs::directory_iterator it(folder, ignored), end; it != end && names.size() < kNamesToCompare;
       it.increment(ignored)) {
    names.push_back(it->path().filename().string());
  }
  const std::string near = nearest(path.filename().string(), names);
  return near.empty() ? "no such file" : "no such file; did you mean " + in_quotes(near) + "?";
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: a named pipe without a writer must give an error, not a wait.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const int error = errno;
    cannot_read(path, error == ENOENT ? missing_reason(path) : std::generic_category().message(error));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) cannot_read(path, std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode)) cannot_read(path, "it is a folder");
  if (!S_ISREG(status.st_mode)) cannot_read(path, "it is not a regular file");
  if (status.st_size == 0) return;
  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) cannot_read(path, std::generic_category().message(errno));
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace heed
