#include "heed/cli/text_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "heed/base/error.h"
#include "heed/cli/program.h"
#include "heed/data/lines.h"
#include "heed/io/printable.h"

namespace heed::cli {

TextLines::TextLines(const std::string& path)
    : name_(path.empty() || path == "-" ? "standard input" : printable(path)) {
  if (path.empty() || path == "-") return;
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) fail_file("[input] cannot read '{}': {}", path, std::strerror(errno));
  fd_ = file_.get();
}

bool TextLines::take_line(std::string& line) {
  const size_t end = rest_.find('\n', at_);
  if (end == std::string::npos && !(ended_ && at_ < rest_.size())) return false;
  const size_t stop = end == std::string::npos ? rest_.size() : end;
  line = rest_.substr(at_, stop - at_);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (number_ == 0 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  at_ = stop + (end == std::string::npos ? 0 : 1);
  ++number_;
  return true;
}

bool TextLines::something_to_read() const {
  pollfd ready{fd_, POLLIN, 0};
  return ::poll(&ready, 1, 0) != 0;
}

decode::Input TextLines::next(std::string& line, bool wait) {
  constexpr size_t kChunk = size_t{1} << 16, kLongest = size_t{64} << 20;
  while (!take_line(line)) {
    if (ended_) return decode::Input::kEnd;
    if (!wait && !something_to_read()) return decode::Input::kNotYet;
    rest_.erase(0, at_);
    at_ = 0;
    if (rest_.size() > kLongest)
      fail_file("[input] line {} of {} is longer than {} bytes", number_ + 1, name_, kLongest);
    const size_t had = rest_.size();
    rest_.resize(had + kChunk);
    const ssize_t got = ::read(fd_, rest_.data() + had, kChunk);
    if (got < 0 && errno != EINTR) fail_file("[input] cannot read {}: {}", name_, std::strerror(errno));
    rest_.resize(had + static_cast<size_t>(std::max<ssize_t>(0, got)));
    if (got == 0) ended_ = true;
  }
  return decode::Input::kReady;
}

TextOutput::TextOutput(const std::string& path) {
  if (!path.empty() && path != "-") file_ = std::make_unique<AtomicFile>(path);
}

void TextOutput::write(std::string_view text) { file_ ? file_->write(text) : print(text); }

void TextOutput::finish() {
  if (file_) file_->commit();
}

std::string TextLines::place() const { return fmt::format("{}:{}", name_, number_); }

std::vector<int32_t> parse_ids(const std::string& where, const std::string& line, int64_t vocabulary) {
  std::vector<int32_t> ids;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= vocabulary) {
      fail_file("{}: {}, expected an id from 0 to {}", where, in_quotes(word), vocabulary - 1);
    }
    ids.push_back(id);
  }
  return ids;
}

std::vector<std::string> read_lines(const std::string& path) {
  data::LineReader reader({path});
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

void check_equal_lines(const std::string& where, const NamedCount& a, const NamedCount& b) {
  if (a.lines != b.lines)
    fail_file("{} '{}' has {} lines, '{}' has {}: expected as many", where, a.name, a.lines, b.name, b.lines);
}

}  // namespace heed::cli
