// Hugging Face's tokenizer.json, and GPT-2's vocab.json with merges.txt.
#pragma once

#include <string>

#include "heed/text/bpe_tokenizer.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {

// What heed does not do (other kinds of models, normalizers, words) is refused by its name.
BpeParts parse_tokenizer_json(const std::string& json, const std::string& label);
BpeParts parse_gpt2_files(const std::string& vocab_json, const std::string& merges, const std::string& label);

// With the settings that lie beside them.
std::shared_ptr<const Tokenizer> read_json_tokenizer(const NamedFiles& files, const std::string& folder);
std::shared_ptr<const Tokenizer> read_gpt2_tokenizer(const NamedFiles& files, const std::string& folder);

}  // namespace heed::text
