// What tokenizer_config.json, special_tokens_map.json and added_tokens.json say about a tokenizer beside its pieces.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "heed/text/bpe_tokenizer.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {

struct TokenizerSettings {
  std::string type;                     // "LlamaTokenizer"; empty where it is not named
  std::string bos, eos, unk, pad;       // the texts of special ids; empty where they are not named
  std::optional<bool> add_bos, legacy;  // legacy: text after a special token starts with a blank, as at the beginning
  std::vector<AddedToken> added;

  bool is_llama() const { return type.find("Llama") != std::string::npos; }
  // The special ids but bos, by how the pieces are called; names that no piece has are none.
  SpecialIds special(const std::function<int32_t(const std::string&)>& id_of) const;
};
TokenizerSettings read_settings(const NamedFiles& files, const std::string& folder);

// {"content": "<s>", "special": true, ...}; `label` begins messages. What heed does not do is refused.
AddedToken read_added_token(const nlohmann::json& token, const nlohmann::json& id, const std::string& label);

}  // namespace heed::text
