// Errors are exceptions whose message starts with the place: "[matmul] inner sizes differ: (2,3) x (4,5)".
// The library never prints or exits; the program turns Error into status 2, FileError and MemoryError into status 1.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

// What the caller asked for cannot be done as asked.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file, its content or the disk is at fault.
class FileError : public Error {
 public:
  using Error::Error;
};

// Memory is asked for that is not there.
class MemoryError : public Error {
 public:
  using Error::Error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_file(fmt::format_string<Args...> format, Args&&... args) {
  throw FileError(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_memory(fmt::format_string<Args...> format, Args&&... args) {
  throw MemoryError(fmt::format(format, std::forward<Args>(args)...));
}

// The candidate closest to `name` by edit distance, or "" when none is near enough to suggest.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);
// The end of a message about an unknown name: "; nearest is 'show'", or nothing.
std::string nearest_is(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace heed
