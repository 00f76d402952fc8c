// What the fuzzers of tokenizers ask of one that was taken, and of a message of one that was not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heed/text/tokenizer.h"

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_message(const std::string& message) {
  require(message.starts_with("[tokenizer] "));
  require(message.size() < 4096);
  require(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }));
}

// Any text becomes ids of the vocabulary, and any ids become text.
inline void use(const heed::text::Tokenizer& tokenizer, const std::string& noise) {
  for (const std::string& text :
       {std::string("the  cat, 한국어 👍🏽 e\u0301"), std::string("aaaaaaaaaaxxxxxxxxxxxxxxxxxxxx"), noise}) {
    const std::vector<int32_t> ids = tokenizer.encode(text);
    require(std::all_of(ids.begin(), ids.end(), [&](int32_t id) { return id >= 0 && id < tokenizer.size(); }));
    static_cast<void>(tokenizer.decode(ids));
  }
  std::vector<int32_t> all;
  for (int32_t id = 0; id < std::min<int64_t>(tokenizer.size(), 1000); ++id) all.push_back(id);
  static_cast<void>(tokenizer.decode(all));
}
