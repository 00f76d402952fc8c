// Text from outside (names in files, paths) and numbers made fit for a one-line message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

// The text with control characters and bytes that are no UTF-8 as \xNN; longer than `limit` bytes it is cut at a whole character and ends in "...".
std::string printable(std::string_view text, size_t limit = 4096);

// printable() of a name, short and in single quotes.
std::string in_quotes(std::string_view name);

std::string with_commas(int64_t n);  // "29,000"

}  // namespace heed
