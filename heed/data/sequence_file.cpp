#include "heed/data/sequence_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::data {
namespace {

[[noreturn]] void damaged(const std::string& label, const std::string& what) {
  fail_file("[store] '{}' is damaged: {}", printable(label), what);
}

StoreEnd read_end(std::span<const std::byte> file, const std::string& label, const SequenceKind& kind) {
  StoreStart start{};
  if (file.size() < sizeof(StoreStart) + sizeof(StoreEnd)) {
    damaged(label, fmt::format("{} bytes, expected at least {}", file.size(), sizeof(StoreStart) + sizeof(StoreEnd)));
  }
  std::memcpy(&start, file.data(), sizeof(start));
  if (start.word != kind.word) damaged(label, fmt::format("it does not begin as a store of {}", kind.name));
  if (start.version != kStoreVersion) {
    fail_file("[store] '{}' has version {}, expected {}", printable(label), start.version, kStoreVersion);
  }
  StoreEnd end;
  std::memcpy(&end, file.data() + file.size() - sizeof(end), sizeof(end));
  if (end.word != kind.word) damaged(label, "its end is missing");
  return end;
}

// Every sequence has ids, one after the other, and they are as many as the end says.
void check_offsets(std::span<const uint64_t> offsets, uint64_t tokens, const StoreEnd& end, const std::string& label,
                   uint64_t each) {
  uint64_t sides[2] = {0, 0};
  for (uint64_t i = 0; i + 1 < offsets.size(); ++i) {
    const uint64_t from = offsets[i], to = offsets[i + 1];
    if (from >= to || to > tokens) damaged(label, fmt::format("sequence {} has a wrong place", i / each));
    sides[i % each] += to - from;
  }
  if (offsets[0] != 0 || sides[0] != end.first || (each == 2 && sides[1] != end.second)) {
    damaged(label, "the sequences do not cover the tokens");
  }
}

template <class T>
void write_values(AtomicFile& file, std::span<const T> values) {
  file.write(std::as_bytes(values));
}

}  // namespace

SequenceFile SequenceFile::open(const std::string& path, const SequenceKind& kind) {
  MappedFile file(path);
  SequenceFile store = parse(file.bytes(), path, kind);
  store.file_ = std::move(file);
  return store;
}

SequenceFile SequenceFile::parse(std::span<const std::byte> file, const std::string& label, const SequenceKind& kind) {
  SequenceFile store;
  store.each_ = kind.each;
  const StoreEnd end = store.end_ = read_end(file, label, kind);
  // Every number is compared with the file's size before it is multiplied.
  const uint64_t room = file.size() - sizeof(StoreStart) - sizeof(StoreEnd), most = room / sizeof(int32_t);
  const uint64_t tokens = end.first + (kind.each == 2 ? end.second : 0);
  if (end.count > room / (kind.each * sizeof(uint64_t)) || end.first > most || (kind.each == 2 && end.second > most) ||
      store_room(kind.each * end.count, tokens) != room) {
    damaged(label, fmt::format("{} {} of {} and {} do not fill {} bytes", end.count, kind.name, end.first, end.second,
                               file.size()));
  }
  const std::byte* ids = file.data() + sizeof(StoreStart);
  const std::byte* offsets = ids + padded_id_bytes(tokens);
  store.ids_ = {reinterpret_cast<const int32_t*>(ids), tokens};
  store.offsets_ = {reinterpret_cast<const uint64_t*>(offsets), kind.each * end.count + 1};
  const std::span padding(ids + tokens * sizeof(int32_t), offsets);
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; })) {
    damaged(label, "something stands between ids and offsets");
  }
  check_offsets(store.offsets_, tokens, end, label, kind.each);
  return store;
}

bool SequenceFile::intact() const {
  Fingerprint found;
  for (size_t i = 0; i + 1 < offsets_.size(); ++i) {
    const std::span<const int32_t> ids = sequence(static_cast<int64_t>(i));
    if (each_ == 2) found.mix(ids.size());
    found.add(ids);
    if (each_ == 1) found.mix(ids.size());
  }
  if (each_ == 1) found.mix(end_.second);
  return found.value() == end_.fingerprint;
}

SequenceWriter::SequenceWriter(const std::string& path, const SequenceKind& kind) : file_(path), kind_(kind) {
  const StoreStart start{kind.word};
  write_values(file_, std::span(&start, 1));
}

void SequenceWriter::add(std::span<const int32_t> ids) {
  if (kind_.each == 2) fingerprint_.mix(ids.size());
  append(ids);
  end_sequence();
}

void SequenceWriter::append(std::span<const int32_t> part) {
  write_values(file_, part);
  fingerprint_.add(part);
  length_ += part.size();
}

void SequenceWriter::end_sequence() {
  if (kind_.each == 1) fingerprint_.mix(length_);
  tokens_[lengths_.size() % kind_.each] += length_;
  lengths_.push_back(std::exchange(length_, 0));
}

void SequenceWriter::finish(uint64_t bytes) {
  const uint64_t tokens = tokens_[0] + tokens_[1];
  const std::array<char, 8> zeros{};
  write_values(file_, std::span<const char>(zeros).first(padded_id_bytes(tokens) - tokens * sizeof(int32_t)));
  uint64_t offset = 0;
  write_values(file_, std::span<const uint64_t>(&offset, 1));
  for (const uint64_t length : lengths_) {
    offset += length;
    write_values(file_, std::span<const uint64_t>(&offset, 1));
  }
  const bool pairs = kind_.each == 2;
  if (!pairs) fingerprint_.mix(bytes);
  const StoreEnd end{lengths_.size() / kind_.each, tokens_[0], pairs ? tokens_[1] : bytes, fingerprint_.value(),
                     kind_.word};
  write_values(file_, std::span(&end, 1));
  file_.commit();
}

}  // namespace heed::data
