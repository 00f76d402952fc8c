#include "heed/tasks/text_joint.h"

#include <algorithm>
#include <string>

#include "heed/text/unicode.h"

namespace heed::tasks {
namespace {

using text::Writing;

// Of the first character that tells; digits, quotation marks and emoji do not.
template <class It>
bool is_without_blanks(It begin, It end) {
  const auto tells = std::find_if(begin, end, [](char32_t c) { return text::writing_of(c) != Writing::kAny; });
  return tells != end && text::writing_of(*tells) == Writing::kWithoutBlanks;
}

// "我 喜欢 猫": cut into words by whoever trained the model.
bool has_blanks_all_the_same(const std::u32string& text) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == U' ' && text::writing_of(text[i - 1]) == Writing::kWithoutBlanks &&
        text::writing_of(text[i + 1]) == Writing::kWithoutBlanks) {
      return true;
    }
  }
  return false;
}

bool continues_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// What is far away tells nothing more, however long a text is.
constexpr size_t kNear = 1024;
std::string_view end_of(std::string_view text) {
  size_t begin = text.size() - std::min(text.size(), kNear);
  while (begin < text.size() && continues_character(text[begin])) ++begin;
  return text.substr(begin);
}
std::string_view start_of(std::string_view text) {
  size_t end = std::min(text.size(), kNear);
  while (end > 0 && end < text.size() && continues_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace

std::string_view joint(std::string_view before, std::string_view after) {
  if (before.empty() || after.empty()) return "";
  const std::u32string left = text::to_code_points(end_of(before)), right = text::to_code_points(start_of(after));
  if (text::is_blank(left.back()) || text::is_blank(right.front())) return "";
  const bool without = is_without_blanks(left.rbegin(), left.rend()) && is_without_blanks(right.begin(), right.end());
  return without && !has_blanks_all_the_same(left) && !has_blanks_all_the_same(right) ? "" : " ";
}

}  // namespace heed::tasks
