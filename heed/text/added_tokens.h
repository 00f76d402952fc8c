// Texts that stand for one id each, found in a text from left to right, the longest first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/text/bpe_tokenizer.h"

namespace heed::text {

// Puts a token among the pieces, behind them where its id lies there. `label` begins the message of an error.
void name_added(std::vector<std::string>& pieces, const AddedToken& token, const std::string& label);

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Parts of a text: with an id, or the text between two of them (id -1, never empty).
  struct Part {
    int32_t id;
    std::string_view text;
  };
  std::vector<Part> split(std::string_view text) const;
  const AddedToken* find(int32_t id) const;

 private:
  const AddedToken* at(std::string_view text) const;
  std::vector<AddedToken> tokens_;                     // the longest first
  std::vector<bool> starts_ = std::vector<bool>(256);  // bytes that one starts with
};

}  // namespace heed::text
