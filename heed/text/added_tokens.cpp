#include "heed/text/added_tokens.h"

#include <algorithm>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {

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
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text.size() > b.text.size(); });
  for (const AddedToken& token : tokens_) starts_[static_cast<uint8_t>(token.text[0])] = true;
}

const AddedToken* AddedTokens::at(std::string_view text) const {
  if (!starts_[static_cast<uint8_t>(text[0])]) return nullptr;
  for (const AddedToken& token : tokens_) {
    if (text.starts_with(token.text)) return &token;
  }
  return nullptr;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text) const {
  std::vector<Part> parts;
  size_t begin = 0;
  const auto text_before = [&](size_t end) {
    if (end > begin) parts.push_back({-1, text.substr(begin, end - begin)});
  };
  for (size_t i = 0; i < text.size();) {
    const AddedToken* token = at(text.substr(i));
    if (token == nullptr) {
      ++i;
      continue;
    }
    text_before(i);
    parts.push_back({token->id, text.substr(i, token->text.size())});
    i = begin = i + token->text.size();
  }
  text_before(text.size());
  return parts;
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = std::find_if(tokens_.begin(), tokens_.end(), [id](const AddedToken& t) { return t.id == id; });
  return found == tokens_.end() ? nullptr : &*found;
}

}  // namespace heed::text
