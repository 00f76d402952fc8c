// Texts that stand for one id each, found in a text from left to right, the longest first.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/text/bpe_tokenizer.h"

namespace heed::text {

// Puts a token among the pieces, behind them where its id lies there. `label` begins the message of an error.
void name_added(std::vector<std::string>& pieces, const AddedToken& token, const std::string& label);

// Texts in order, each once: which of them stand at the start of another, found in one walk along it.
class SortedTexts {
 public:
  SortedTexts() = default;
  explicit SortedTexts(std::vector<std::string_view> texts) : texts_(std::move(texts)) {}
  // Calls found(number) for each that does, the shortest first; gives back how many bytes were looked at: those that some text
  // begins with, and one.
  size_t walk(std::string_view text, const std::function<void(size_t)>& found) const;

 private:
  std::vector<std::string_view> texts_;
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);
  AddedTokens(const AddedTokens&) = delete;  // what it holds points into itself
  AddedTokens& operator=(const AddedTokens&) = delete;

  // Parts of a text: with an id, or the text between two of them (id -1; empty only at the start, before a blank that
  // goes with a token).
  struct Part {
    int32_t id;
    std::string_view text;
    bool goes_on = false;  // text behind a token that does not interrupt it
  };
  std::vector<Part> split(std::string_view text) const;
  // Whether a token lies across a place in a text, ends there or begins there.
  bool touches(std::string_view text, size_t at) const;

 private:
  struct Found {
    const AddedToken* token = nullptr;
    size_t bytes = 0;  // of the text, with the blank where that goes with it
  };
  Found at(std::string_view text, bool at_start) const;
  std::vector<AddedToken> tokens_;
  SortedTexts texts_;  // in the same order
  size_t longest_ = 0;
  std::vector<bool> starts_ = std::vector<bool>(256);  // bytes that one starts with
};

}  // namespace heed::text
