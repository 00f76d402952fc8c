// GPT-2's alphabet: a letter for every byte, so that pieces of bytes can be written as text.
#pragma once

#include <array>

namespace heed::text {

// Bytes that print stand for themselves, the others for U+0100, U+0101, ... in order.
constexpr std::array<char32_t, 256> byte_letters() {
  std::array<char32_t, 256> letters{};
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    const bool prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    letters[b] = prints ? b : next++;
  }
  return letters;
}

}  // namespace heed::text
