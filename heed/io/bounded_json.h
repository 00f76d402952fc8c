// JSON from strangers. The parser itself needs no stack for nested brackets, but copying, comparing and writing a value
// do: what is nested deeper than any file of ours or theirs is refused before it is a value.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace heed {

bool nested_too_deep(std::string_view json);

// A discarded value where the text is no JSON, or nested too deep.
template <class Json = nlohmann::json>
Json parse_bounded(std::string_view text) {
  return nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace heed
