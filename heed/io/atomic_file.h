// Files that appear whole or not at all: written beside their place, synced, then renamed over it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "heed/io/file_descriptor.h"

namespace heed {

// What is asked of the system; a test puts a failing disk in its place.
struct FileCalls {
  std::function<ssize_t(int, const void*, size_t)> write = ::write;
  std::function<int(int)> sync = ::fsync;
  std::function<int(const char*, const char*)> rename = [](const char* from, const char* to) {
    return std::rename(from, to);
  };
  bool unnamed_temporary = true;  // no name in the folder until all is written, where the file system can
};

// On any failure before the rename, and when commit() is never reached, what was at `path` stays as it was and nothing is
// left beside it. Where only the folder cannot be synced, commit() fails too, but the new file is there, whole: it may
// not survive a power cut.
// A symbolic link stays a link: its target is replaced. Pipes and devices (/dev/stdout) are written to directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, FileCalls calls = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void open_temporary();
  bool open_unnamed();
  void name_temporary(const std::function<bool(const char*)>& create);
  void write_through(std::span<const std::byte> bytes);
  void sync_folder();
  [[noreturn]] void failed(int error) const;

  std::string path_;       // as the caller named it
  std::string target_;     // path_ with links followed
  std::string folder_;     // of target_
  std::string temporary_;  // name to remove unless renamed; empty while there is none
  std::string pending_;    // small writes gathered
  FileCalls calls_;
  FileDescriptor file_;
  bool direct_ = false;
};

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
void write_file_atomically(const std::string& path, const std::function<void(AtomicFile&)>& writer);

}  // namespace heed
