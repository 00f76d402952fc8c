#include "heed/text/training_lines.h"

#include <algorithm>

#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr size_t kMaxBytes = 4000;  // SentencePiece passes over lines of more than 4192

bool is_reserved(char32_t c) { return c == 0 || c == 0x2585; }

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Where to cut a line that is too long: after the last blank that fits, or else between two characters.
size_t cut_of(std::string_view line) {
  const size_t blank = line.rfind(' ', kMaxBytes - 1);
  if (blank != std::string_view::npos && blank > 0) return blank + 1;
  size_t cut = kMaxBytes;
  while (continues_character(line[cut])) --cut;
  return cut;
}

}  // namespace

// Reservoir sampling: after n lines each has been kept with the same chance limit / n.
void LineSample::add(std::string_view line) {
  const int64_t number = seen_++;
  if (number < limit_) {
    kept_.push_back({number, std::string(line)});
    return;
  }
  const auto place = random_.below(static_cast<uint64_t>(seen_));
  if (place < static_cast<uint64_t>(limit_)) kept_[place] = {number, std::string(line)};
}

std::vector<std::string> LineSample::take() && {
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
  std::vector<std::string> lines;
  for (Kept& kept : kept_) append_training_lines(lines, kept.line);
  kept_.clear();
  return lines;
}

void append_training_lines(std::vector<std::string>& lines, std::string_view line) {
  std::u32string characters = to_code_points(line);
  std::replace_if(characters.begin(), characters.end(), is_reserved, U' ');
  const std::string clean = to_utf8(characters);
  std::string_view rest = clean;
  while (rest.size() > kMaxBytes) {
    const size_t cut = cut_of(rest);
    lines.emplace_back(rest.substr(0, cut));
    rest.remove_prefix(cut);
  }
  if (!rest.empty()) lines.emplace_back(rest);
}

}  // namespace heed::text
