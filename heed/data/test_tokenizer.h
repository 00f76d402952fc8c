// A tokenizer for tests: words separated by blanks, ids by their first letter, with one word it does not know.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed::data {

class LetterTokenizer : public text::Tokenizer {
 public:
  std::vector<int32_t> encode(std::string_view text) const override {
    std::istringstream words{std::string(text)};
    std::vector<int32_t> ids;
    for (std::string word; words >> word;) {
      if (word == "-") continue;  // a line of these has no token at all
      ids.push_back(word == "?" ? special().unk : 3 + static_cast<unsigned char>(word[0]));
    }
    return ids;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) text += piece(id);
    return text;
  }
  std::string piece(int32_t id) const override { return id < 3 ? "" : std::string(1, static_cast<char>(id - 3)); }
  std::string bytes(int32_t id) const override { return piece(id); }
  int64_t size() const override { return 259; }
  text::SpecialIds special() const override { return {}; }
};

inline text::TokenizerPair letter_tokenizers() {
  const auto tokenizer = std::make_shared<LetterTokenizer>();
  return {tokenizer, tokenizer};
}

}  // namespace heed::data
