#include "heed/data/pair_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "heed/base/error.h"
#include "heed/data/pair_store_format.h"
#include "heed/io/printable.h"

namespace heed::data {
namespace {

[[noreturn]] void damaged(const std::string& label, const std::string& what) {
  fail_file("[store] '{}' is damaged: {}", printable(label), what);
}

StoreEnd read_end(std::span<const std::byte> file, const std::string& label) {
  StoreStart start;
  if (file.size() < sizeof(StoreStart) + sizeof(StoreEnd)) {
    damaged(label, fmt::format("{} bytes, expected at least {}", file.size(), sizeof(StoreStart) + sizeof(StoreEnd)));
  }
  std::memcpy(&start, file.data(), sizeof(start));
  if (start.word != kStoreWord) damaged(label, "it does not begin as a store of sentence pairs");
  if (start.version != kStoreVersion) {
    fail_file("[store] '{}' has version {}, expected {}", printable(label), start.version, kStoreVersion);
  }
  StoreEnd end;
  std::memcpy(&end, file.data() + file.size() - sizeof(end), sizeof(end));
  if (end.word != kStoreWord) damaged(label, "its end is missing");
  return end;
}

}  // namespace

PairStore PairStore::open(const std::string& path) {
  MappedFile file(path);
  PairStore store = parse(file.bytes(), path);
  store.file_ = std::move(file);
  return store;
}

PairStore PairStore::parse(std::span<const std::byte> file, const std::string& label) {
  const StoreEnd end = read_end(file, label);
  // Every number is compared with the file's size before it is multiplied.
  const uint64_t room = file.size() - sizeof(StoreStart) - sizeof(StoreEnd);
  const uint64_t tokens = end.source_tokens + end.target_tokens;
  if (end.count > room / (2 * sizeof(uint64_t)) || end.source_tokens > room / sizeof(int32_t) ||
      end.target_tokens > room / sizeof(int32_t) || store_room(end.count, tokens) != room) {
    damaged(label, fmt::format("{} pairs of {} and {} tokens do not fill {} bytes", end.count, end.source_tokens,
                               end.target_tokens, file.size()));
  }
  PairStore store;
  store.count_ = static_cast<int64_t>(end.count);
  store.source_tokens_ = static_cast<int64_t>(end.source_tokens);
  store.target_tokens_ = static_cast<int64_t>(end.target_tokens);
  store.fingerprint_ = end.fingerprint;
  const std::byte* ids = file.data() + sizeof(StoreStart);
  store.ids_ = reinterpret_cast<const int32_t*>(ids);
  store.offsets_ = reinterpret_cast<const uint64_t*>(ids + padded_id_bytes(tokens));
  const std::span padding(ids + tokens * sizeof(int32_t), reinterpret_cast<const std::byte*>(store.offsets_));
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
    damaged(label, "something stands between ids and offsets");
  }

  uint64_t sides[2] = {0, 0};
  for (uint64_t i = 0; i < 2 * end.count; ++i) {
    const uint64_t from = store.offsets_[i], to = store.offsets_[i + 1];
    if (from >= to || to > tokens) damaged(label, fmt::format("sentence {} has a wrong place", i / 2));
    sides[i % 2] += to - from;
  }
  if (store.offsets_[0] != 0 || sides[0] != end.source_tokens || sides[1] != end.target_tokens) {
    damaged(label, "the sentences do not cover the tokens");
  }
  return store;
}

std::span<const int32_t> PairStore::source(int64_t i) const {
  return {ids_ + offsets_[2 * i], ids_ + offsets_[2 * i + 1]};
}

std::span<const int32_t> PairStore::target(int64_t i) const {
  return {ids_ + offsets_[2 * i + 1], ids_ + offsets_[2 * i + 2]};
}

bool PairStore::intact() const {
  Fingerprint found;
  for (int64_t i = 0; i < count_; ++i) {
    found.add(source(i));
    found.add(target(i));
  }
  return found.value() == fingerprint_;
}

}  // namespace heed::data
