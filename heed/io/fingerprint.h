// A hash that tells files and arrays apart, nothing more: no protection against someone who wants them to look alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heed {

constexpr uint64_t kFingerprintStart = 0xcbf29ce484222325;

// Of several pieces: the fingerprint of one is the start of the next.
uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t start = kFingerprintStart);

}  // namespace heed
