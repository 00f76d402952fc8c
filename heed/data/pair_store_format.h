// The layout that pair_store.h describes, shared by its reader and its writer.
#pragma once

#include <cstdint>
#include <span>

namespace heed::data {

constexpr uint64_t kStoreWord = 0x7269617064656568;  // "heedpair"
constexpr uint64_t kStoreVersion = 1;

struct StoreStart {
  uint64_t word = kStoreWord, version = kStoreVersion;
};
struct StoreEnd {
  uint64_t count = 0, source_tokens = 0, target_tokens = 0, fingerprint = 0, word = kStoreWord;
};

// Offsets are aligned to their size.
constexpr uint64_t padded_id_bytes(uint64_t tokens) { return (tokens * sizeof(int32_t) + 7) / 8 * 8; }
// Of ids and offsets together.
constexpr uint64_t store_room(uint64_t count, uint64_t tokens) {
  return padded_id_bytes(tokens) + (2 * count + 1) * sizeof(uint64_t);
}

// A running hash of sentences and where each ends.
class Fingerprint {
 public:
  void add(std::span<const int32_t> ids) {
    mix(ids.size());
    for (const int32_t id : ids) mix(static_cast<uint32_t>(id));
  }
  uint64_t value() const { return hash_; }

 private:
  void mix(uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15;
    hash_ ^= hash_ >> 29;
  }
  uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace heed::data
