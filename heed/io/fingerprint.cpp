#include "heed/io/fingerprint.h"

#include <cstring>

namespace heed {

// FNV-1a over words of eight bytes.
uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t start) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t h = start;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = (h ^ word) * kPrime;
    h ^= h >> 29;
  }
  for (; i < bytes.size(); ++i) h = (h ^ static_cast<uint64_t>(bytes[i])) * kPrime;
  return h;
}

}  // namespace heed
