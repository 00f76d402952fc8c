#include "heed/cli/text_lines.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <sstream>

#include "heed/base/error.h"
#include "heed/cli/program.h"
#include "heed/data/byte_source.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"
#include "heed/train/run_folder.h"

namespace heed::cli {

namespace {

constexpr int64_t kLongestLine = int64_t{1} << 26;  // a whole book is one; what never ends is none

}  // namespace

TextLines::TextLines(const std::string& path)
    : reader_({path.empty() ? "-" : path}, {.max_bytes = kLongestLine, .refuse = true}) {}

decode::Input TextLines::next(std::string& line, bool wait) {
  switch (reader_.next(line, wait)) {
    case data::LineReader::Next::kLine:
      if (!text::valid_utf8(line) && not_utf8_++ == 0) first_not_utf8_ = place();
      return decode::Input::kReady;
    case data::LineReader::Next::kNotYet:
      return decode::Input::kNotYet;
    case data::LineReader::Next::kEnd:
      break;
  }
  return decode::Input::kEnd;
}

std::string TextLines::not_text() const {
  if (not_utf8_ == 0) return "";
  return fmt::format("{} line{} not UTF-8 text (first: {})", not_utf8_, not_utf8_ == 1 ? " is" : "s are",
                     first_not_utf8_);
}

TextOutput::TextOutput(const std::string& path, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(path).lexically_normal(), folder = file.has_parent_path() ? file.parent_path() : ".";
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (fs::equivalent(path, input, ignored)) fail("[output] '{}' is a file that is read", path);
    if (train::is_of_a_model(file.filename().string()) && fs::equivalent(folder, input, ignored))
      fail("[output] '{}' would be a part of the model that is read: expected another name or folder", path);
  }
  if (!path.empty() && path != "-") file_ = std::make_unique<AtomicFile>(path);
}

void TextOutput::write(std::string_view text) { file_ ? file_->write(text) : print(text); }

void TextOutput::finish() {
  if (file_) file_->commit();
}

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

std::string unknown_text(int64_t tokens) {
  if (tokens == 0) return "";
  return fmt::format("{} token{} unknown to the model, which reads <unk> instead", tokens,
                     tokens == 1 ? " is" : "s are");
}

std::vector<std::string> read_lines(const std::string& path) {
  data::LineReader reader({path});
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    if (!text::valid_utf8(line)) fail_file("[read] {} is not UTF-8 text", reader.place());
    lines.push_back(line);
  }
  return lines;
}

void check_equal_lines(const std::string& where, const NamedCount& a, const NamedCount& b) {
  if (a.lines != b.lines)
    fail_file("{} '{}' has {} lines, '{}' has {}: expected as many", where, a.name, a.lines, b.name, b.lines);
}

std::string read_whole_text(const std::string& where, const std::string& path) {
  data::ByteSource source(path.empty() ? "-" : path);
  std::string text;
  std::vector<char> block(1 << 16);
  for (size_t size = source.read(block); size > 0; size = source.read(block)) text.append(block.data(), size);
  if (!text::valid_utf8(text)) fail_file("{} '{}' is not UTF-8 text", where, path.empty() ? "standard input" : path);
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

}  // namespace heed::cli
