// Lines of text in and out: standard input as it comes, files whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/data/lines.h"
#include "heed/decode/stream.h"
#include "heed/io/atomic_file.h"

namespace heed::cli {

class TextLines {
 public:
  explicit TextLines(const std::string& path);  // .gz too; "" and "-": standard input
  // kNotYet only where it may not wait and nothing has come.
  decode::Input next(std::string& line, bool wait);
  std::string place() const { return reader_.place(); }  // of the last line: "in.txt:3"
  // How many were not UTF-8, and where the first was; "" where all were.
  std::string not_text() const;

 private:
  data::LineReader reader_;
  int64_t not_utf8_ = 0;
  std::string first_not_utf8_;
};

// Standard output line by line, or a file that appears whole.
class TextOutput {
 public:
  // `inputs` are what is read: files, and of model directories what belongs to a model. They are not to be replaced.
  explicit TextOutput(const std::string& path, const std::vector<std::string>& inputs);
  void write(std::string_view text);
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;
};

// "3 17 4" -> ids below the vocabulary's size; anything else is an error of the file, with `where` and the word.
std::vector<int32_t> parse_ids(const std::string& where, const std::string& line, int64_t vocabulary);

// What is told of tokens that a tokenizer does not know; "" of none.
std::string unknown_text(int64_t tokens);

// All lines of a file, .gz too; one that is not UTF-8 is an error.
std::vector<std::string> read_lines(const std::string& path);
// The whole of a file, .gz too, or of standard input where the path is empty; without a byte-order mark. One that is not
// UTF-8 is an error that `where` begins.
std::string read_whole_text(const std::string& where, const std::string& path);
struct NamedCount {
  std::string name;
  size_t lines;
};
void check_equal_lines(const std::string& where, const NamedCount& a, const NamedCount& b);

}  // namespace heed::cli
