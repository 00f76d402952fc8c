#include "heed/data/lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "heed/base/error.h"
#include "heed/data/byte_source.h"
#include "heed/io/printable.h"

namespace heed::data {

namespace {

std::string place_of(const std::string& file, int64_t number) {
  return fmt::format("{}:{}", file == "-" ? "standard input" : printable(file), number);
}

}  // namespace

struct LineReader::State {
  // More bytes of the current file; false at its end.
  bool fill() {
    begin = 0;
    end = source->read(block);
    return end > 0;
  }

  bool open_next() {
    if (source) {
      closed_bytes += sizes[index];
      source.reset();
      ++index;
    }
    if (index == files.size()) return false;
    source.emplace(files[index]);
    number = 0;
    begin = end = 0;
    return true;
  }

  void append(const char* data, size_t size) {
    const size_t room =
        static_cast<size_t>(limit.max_bytes) - std::min(line.size(), static_cast<size_t>(limit.max_bytes));
    line.append(data, std::min(size, room));
    if (size <= room) return;
    cut = true;
    if (limit.refuse) {
      fail_file("[read] {} is longer than {} bytes", place_of(files[index], number + 1), limit.max_bytes);
    }
  }

  // On to the end of the line; kEnd when the file has ended before it began.
  Next read_line(bool wait) {
    while (true) {
      if (begin == end) {
        if (!wait && !source->ready()) return Next::kNotYet;
        if (!fill()) break;
      }
      begun = true;
      const char* data = &block[begin];
      const auto* stop = static_cast<const char*>(std::memchr(data, '\n', end - begin));
      size_t size = stop ? static_cast<size_t>(stop - data) : end - begin;
      begin += size + (stop ? 1 : 0);
      // A "\r" is held back until what follows tells whether it is half of "\r\n".
      if (carriage_return && !(stop && size == 0)) append("\r", 1);
      carriage_return = size > 0 ? data[size - 1] == '\r' : carriage_return;
      if (size > 0 && carriage_return) --size;
      append(data, size);
      if (stop) return Next::kLine;
    }
    if (carriage_return) append("\r", 1);
    return begun ? Next::kLine : Next::kEnd;
  }

  void begin_line() {
    line.clear();
    begun = carriage_return = false;
  }

  std::vector<std::string> files;
  std::vector<int64_t> sizes;
  LineLimit limit;
  int64_t total_bytes = 0, closed_bytes = 0;
  size_t index = 0;       // of the open file
  size_t line_index = 0;  // of the file of the last line
  std::optional<ByteSource> source;
  std::array<char, 1 << 16> block;
  size_t begin = 0, end = 0;
  int64_t number = 0;       // lines read of the open file
  int64_t line_number = 0;  // of the last line
  std::string line;         // what has come of the next one
  bool begun = false, carriage_return = false, cut = false;
};

LineReader::LineReader(std::vector<std::string> files, LineLimit limit) : state_(std::make_unique<State>()) {
  if (files.empty()) fail("[read] no file is named, expected at least one");
  state_->limit = limit;
  for (const std::string& file : files) {
    state_->sizes.push_back(check_readable(file));
    state_->total_bytes += state_->sizes.back();
  }
  state_->files = std::move(files);
  state_->open_next();
}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

LineReader::Next LineReader::next(std::string& line, bool wait) {
  State& s = *state_;
  if (!s.begun) s.cut = false;
  while (s.source) {
    const Next found = s.read_line(wait);
    if (found == Next::kNotYet) return found;
    if (found == Next::kEnd) {
      s.open_next();
      continue;
    }
    line.swap(s.line);
    s.begin_line();
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (++s.number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    s.line_index = s.index;
    s.line_number = s.number;
    return found;
  }
  return Next::kEnd;
}

const std::string& LineReader::file() const { return state_->files[state_->line_index]; }
int64_t LineReader::number() const { return state_->line_number; }
bool LineReader::cut() const { return state_->cut; }
std::string LineReader::place() const { return place_of(file(), number()); }

double LineReader::progress() const {
  const State& s = *state_;
  if (!s.source) return 1.0;
  if (s.total_bytes == 0) return 0.0;
  const int64_t done = s.closed_bytes + std::min(s.source->consumed(), s.sizes[s.index]);
  return static_cast<double>(done) / static_cast<double>(s.total_bytes);
}

}  // namespace heed::data
