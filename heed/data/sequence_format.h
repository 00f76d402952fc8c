// The layout that sequence_file.h describes, shared by its reader and its writer.
#pragma once

#include <cstdint>
#include <span>

namespace heed::data {

constexpr uint64_t kStoreVersion = 1;

struct StoreStart {
  uint64_t word, version = kStoreVersion;
};
struct StoreEnd {
  uint64_t count = 0;              // of entries
  uint64_t first = 0, second = 0;  // of pairs: tokens of sources and of targets; of documents: tokens, bytes of text
  uint64_t fingerprint = 0, word = 0;
};

// Offsets are aligned to their size.
constexpr uint64_t padded_id_bytes(uint64_t tokens) { return (tokens * sizeof(int32_t) + 7) / 8 * 8; }
// Of ids and offsets together.
constexpr uint64_t store_room(uint64_t sequences, uint64_t tokens) {
  return padded_id_bytes(tokens) + (sequences + 1) * sizeof(uint64_t);
}

// A running hash of sequences and where each ends.
class Fingerprint {
 public:
  void add(std::span<const int32_t> ids) {
    for (const int32_t id : ids) mix(static_cast<uint32_t>(id));
  }
  void mix(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15;
    hash_ ^= hash_ >> 29;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace heed::data
