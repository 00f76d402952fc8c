// Lines of text files, plain or gzip, several files one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heed::data {

class LineReader {
 public:
  // Opens the first file at once: a missing one is an error here. "-" is standard input.
  explicit LineReader(std::vector<std::string> files);
  ~LineReader();
  LineReader(LineReader&&) noexcept;

  // Without "\n" or "\r\n" and without a byte-order mark at the start of a file.
  bool next(std::string& line);
  const std::string& file() const;  // of the last line
  int64_t number() const;           // of the last line in its file, from 1
  double progress() const;          // share of all bytes read, 0 to 1; of the compressed bytes of a .gz

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::data
