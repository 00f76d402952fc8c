// Lines of text files, plain or gzip, several files one after the other.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace heed::data {

// Of a line longer than `max_bytes` only the start is kept, and cut() says so, or it is an error as soon as it is too
// long: memory stays bounded whatever the file holds.
struct LineLimit {
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
  bool refuse = false;
};

class LineReader {
 public:
  // A file that is missing is an error here, whichever it is. "-" is standard input.
  explicit LineReader(std::vector<std::string> files, LineLimit limit = {});
  ~LineReader();
  LineReader(LineReader&&) noexcept;

  // Without "\n" or "\r\n" and without a byte-order mark at the start of a file.
  bool next(std::string& line) { return next(line, true) == Next::kLine; }
  // Where it may not wait: kNotYet until the whole line has come; what has come of it is kept.
  enum class Next { kLine, kNotYet, kEnd };
  Next next(std::string& line, bool wait);
  const std::string& file() const;  // of the last line
  int64_t number() const;           // of the last line in its file, from 1
  bool cut() const;                 // the last line was longer than max_bytes
  std::string place() const;        // of the last line: "train.en:17", "standard input:17"
  double progress() const;          // share of all bytes read, 0 to 1; of the compressed bytes of a .gz

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::data
