#include "heed/text/added_tokens.h"

#include <algorithm>
#include <functional>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlanks[] = {" ", "▁"};

}  // namespace

void name_added(std::vector<std::string>& pieces, const AddedToken& token, const std::string& label) {
  constexpr size_t kMostBehind = 100'000;
  const auto id = static_cast<size_t>(token.id);
  if (token.text.empty()) fail_file("[tokenizer] {}: the added token of id {} is empty", label, token.id);
  if (token.id < 0 || id > pieces.size() + kMostBehind) {
    fail_file("[tokenizer] {}: added token {} has id {}", label, in_quotes(token.text), token.id);
  }
  if (id >= pieces.size()) pieces.resize(id + 1);
  pieces[id] = token.text;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& token : tokens_) {
    by_text_.emplace(token.text, &token);
    lengths_.push_back(token.text.size());
    starts_[static_cast<uint8_t>(token.text[0])] = true;
    for (const std::string_view blank : kBlanks) {
      if (token.behind_blank) starts_[static_cast<uint8_t>(blank[0])] = true;
    }
  }
  std::sort(lengths_.begin(), lengths_.end(), std::greater<>());
  lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
}

AddedTokens::Found AddedTokens::at(std::string_view text, bool at_start) const {
  if (!starts_[static_cast<uint8_t>(text[0])]) return {};
  const auto token_of = [&](size_t begin, size_t length) -> const AddedToken* {
    if (begin + length > text.size()) return nullptr;
    const auto found = by_text_.find(text.substr(begin, length));
    return found == by_text_.end() ? nullptr : found->second;
  };
  for (const size_t length : lengths_) {
    const AddedToken* token = token_of(0, length);
    if (token != nullptr && (at_start || !token->behind_blank)) return {token, length};
    for (const std::string_view blank : kBlanks) {
      if (!text.starts_with(blank)) continue;
      token = token_of(blank.size(), length);
      if (token != nullptr && token->behind_blank) return {token, blank.size() + length};
    }
  }
  return {};
}

bool AddedTokens::touches(std::string_view text, size_t at) const {
  if (lengths_.empty()) return false;
  for (size_t begin = at - std::min(at, lengths_.front()); begin <= at && begin < text.size(); ++begin) {
    for (const size_t length : lengths_) {
      if (begin + length >= at && by_text_.contains(text.substr(begin, length))) return true;
    }
  }
  return false;
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
