// Every character is an id, blanks and ends of lines too; those that are not in the list are unknown.
#pragma once

#include <memory>
#include <string>

#include "heed/text/tokenizer.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {

constexpr const char* kCharFile = "char_tokenizer.json";

// {"type": "char", "version": 1, "eos": 0, "unk": 1, "first_character": 2, "characters": ["\n", " ", "!", ...]}; with "bos": 0
// texts begin behind that id.
std::shared_ptr<const Tokenizer> read_char_tokenizer(const std::string& json, const std::string& label);
NamedFiles char_files(std::u32string_view characters);

}  // namespace heed::text
