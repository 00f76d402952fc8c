// How GPT-2 cuts text into words before byte pairs are merged; no merge crosses a cut.
#pragma once

#include <string_view>
#include <vector>

namespace heed::text {

// The matches of 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ one after the other. The text
// is UTF-8; they cover it whole.
std::vector<std::string_view> gpt2_words(std::string_view text);

}  // namespace heed::text
