// Lines of text in and out: standard input as it comes, files whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/decode/stream.h"
#include "heed/io/atomic_file.h"
#include "heed/io/file_descriptor.h"

namespace heed::cli {

class TextLines {
 public:
  explicit TextLines(const std::string& path);  // "" and "-": standard input
  // kNotYet only where it may not wait and nothing has come.
  decode::Input next(std::string& line, bool wait);
  std::string place() const;  // of the last line: "in.txt:3"

 private:
  bool take_line(std::string& line);
  bool something_to_read() const;

  std::string name_, rest_;
  size_t at_ = 0;
  FileDescriptor file_;
  int fd_ = 0;
  int64_t number_ = 0;
  bool ended_ = false;
};

// Standard output line by line, or a file that appears whole.
class TextOutput {
 public:
  explicit TextOutput(const std::string& path);
  void write(std::string_view text);
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;
};

// "3 17 4" -> ids below the vocabulary's size; anything else is an error of the file, with `where` and the word.
std::vector<int32_t> parse_ids(const std::string& where, const std::string& line, int64_t vocabulary);

// All lines of a file, .gz too.
std::vector<std::string> read_lines(const std::string& path);
struct NamedCount {
  std::string name;
  size_t lines;
};
void check_equal_lines(const std::string& where, const NamedCount& a, const NamedCount& b);

}  // namespace heed::cli
