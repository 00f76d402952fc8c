#include "heed/text/added_tokens.h"

#include <algorithm>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlanks[] = {" ", "▁"};

}  // namespace

void name_added(std::vector<std::string>& pieces, const AddedToken& token, const std::string& label) {
  constexpr size_t kMostBehind = 100'000, kMostBytes = 1024;
  const auto id = static_cast<size_t>(token.id);
  if (token.text.empty()) fail_file("[tokenizer] {}: the added token of id {} is empty", label, token.id);
  if (token.text.size() > kMostBytes) {
    fail_file("[tokenizer] {}: added token {} has {} bytes, expected at most {}", label, in_quotes(token.text),
              token.text.size(), kMostBytes);
  }
  if (token.id < 0 || id > pieces.size() + kMostBehind) {
    fail_file("[tokenizer] {}: added token {} has id {}", label, in_quotes(token.text), token.id);
  }
  if (id >= pieces.size()) pieces.resize(id + 1);
  pieces[id] = token.text;
}

size_t SortedTexts::walk(std::string_view text, const std::function<void(size_t)>& found) const {
  const auto byte_at = [](std::string_view one, size_t at) { return static_cast<uint8_t>(one[at]); };
  auto begin = texts_.begin(), end = texts_.end();
  size_t depth = 0;
  for (; begin != end; ++depth) {
    // Of texts with the same start the shortest stands first: the start itself.
    if (begin->size() == depth) found(static_cast<size_t>(begin++ - texts_.begin()));
    if (depth == text.size()) break;
    const uint8_t next = byte_at(text, depth);
    begin = std::partition_point(begin, end, [&](std::string_view one) { return byte_at(one, depth) < next; });
    end = std::partition_point(begin, end, [&](std::string_view one) { return byte_at(one, depth) == next; });
  }
  return depth;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  // Of equal texts the first counts.
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
  const auto same = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  std::vector<std::string_view> texts;
  for (const AddedToken& token : tokens_) {
    texts.push_back(token.text);
    longest_ = std::max(longest_, token.text.size());
    starts_[static_cast<uint8_t>(token.text[0])] = true;
    for (const std::string_view blank : kBlanks) {
      if (token.behind_blank) starts_[static_cast<uint8_t>(blank[0])] = true;
    }
  }
  texts_ = SortedTexts(std::move(texts));
}

AddedTokens::Found AddedTokens::at(std::string_view text, bool at_start) const {
  if (!starts_[static_cast<uint8_t>(text[0])]) return {};
  Found best;
  const auto take = [&](const AddedToken& token, size_t before) {
    if (best.token == nullptr || token.text.size() > best.token->text.size())
      best = {&token, before + token.text.size()};
  };
  texts_.walk(text, [&](size_t i) {
    if (at_start || !tokens_[i].behind_blank) take(tokens_[i], 0);
  });
  for (const std::string_view blank : kBlanks) {
    if (!text.starts_with(blank)) continue;
    texts_.walk(text.substr(blank.size()), [&](size_t i) {
      if (tokens_[i].behind_blank) take(tokens_[i], blank.size());
    });
  }
  return best;
}

bool AddedTokens::touches(std::string_view text, size_t at) const {
  bool touched = false;
  for (size_t back = 0; back <= std::min(at, longest_) && !touched; ++back) {  // the nearest first: most are short
    if (at == text.size() && back == 0) continue;
    texts_.walk(text.substr(at - back), [&](size_t i) { touched = touched || tokens_[i].text.size() >= back; });
  }
  return touched;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text) const {
  std::vector<Part> parts;
  size_t begin = 0;
  bool goes_on = false;
  const auto text_before = [&](size_t end) {
    if (end > begin) parts.push_back({-1, text.substr(begin, end - begin), goes_on});
  };
  for (size_t i = 0; i < text.size();) {
    const Found found = at(text.substr(i), i == 0);
    if (found.token == nullptr) {
      ++i;
      continue;
    }
    text_before(i);
    // The blank before the text is not the one that went with the token.
    if (i == 0 && found.bytes > found.token->text.size()) parts.push_back({-1, text.substr(0, 0)});
    parts.push_back({found.token->id, text.substr(i, found.bytes)});
    goes_on = found.token->behind_blank;
    i = begin = i + found.bytes;
  }
  text_before(text.size());
  return parts;
}

}  // namespace heed::text
