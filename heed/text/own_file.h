// The files of heed's own tokenizers: JSON that says what it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace heed::text {

// The object that a file holds. It must have everything of `expected`, with the same values: a file that says anything else
// was written by a later heed, or by nobody.
nlohmann::ordered_json read_own_file(const std::string& json, const nlohmann::ordered_json& expected,
                                     const std::string& label, size_t max_bytes);
// The id that such a file puts before a text, one of the `special` first; -1 where it names none.
int32_t own_bos(const nlohmann::ordered_json& file, int32_t special, const std::string& label);

}  // namespace heed::text
