// Sequences of ids in one memory-mapped file: it may be larger than memory.
// The file, little-endian: the word of its kind and the version; the ids; the offsets of the sequences; then what was
// known only at the end: counts, fingerprint and the word again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heed/data/sequence_format.h"
#include "heed/io/atomic_file.h"
#include "heed/io/mapped_file.h"

namespace heed::data {

// Pairs of sentences are two sequences an entry, documents one. A document may be longer than memory: its length goes into
// the fingerprint behind its ids, not before them.
struct SequenceKind {
  uint64_t word;
  const char* name;  // for messages
  uint64_t each;     // sequences of an entry
};
constexpr SequenceKind kPairSequences{0x7269617064656568, "sentence pairs", 2};  // "heedpair"
constexpr SequenceKind kTextSequences{0x7478657464656568, "documents", 1};       // "heedtext"

class SequenceFile {
 public:
  // Every offset is checked against the file before anything is read; a damaged file is an error.
  static SequenceFile open(const std::string& path, const SequenceKind& kind);
  // From memory that must outlive the object, aligned to 8; `label` stands for the file's name in messages.
  static SequenceFile parse(std::span<const std::byte> file, const std::string& label, const SequenceKind& kind);

  int64_t entries() const { return static_cast<int64_t>(end_.count); }
  int64_t first() const { return static_cast<int64_t>(end_.first); }
  int64_t second() const { return static_cast<int64_t>(end_.second); }
  uint64_t fingerprint() const { return end_.fingerprint; }  // of all ids: tells on resume that the data changed
  bool intact() const;                                       // the ids still give it; reads the whole file

  std::span<const int32_t> ids() const { return ids_; }
  std::span<const uint64_t> offsets() const { return offsets_; }  // in ids, one more than sequences
  std::span<const int32_t> sequence(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return ids_.subspan(offsets_[at], offsets_[at + 1] - offsets_[at]);
  }

 private:
  MappedFile file_;
  uint64_t each_ = 1;
  StoreEnd end_;
  std::span<const int32_t> ids_;
  std::span<const uint64_t> offsets_;
};

// Writes one atomically; eight bytes a sequence are all that stays in memory.
class SequenceWriter {
 public:
  SequenceWriter(const std::string& path, const SequenceKind& kind);
  void add(std::span<const int32_t> ids);  // a whole sequence
  // A sequence in parts, of a kind with one an entry.
  void append(std::span<const int32_t> part);
  void end_sequence();
  // Of a text the bytes that it had.
  void finish(uint64_t bytes = 0);

 private:
  AtomicFile file_;
  SequenceKind kind_;
  std::vector<uint64_t> lengths_;
  uint64_t length_ = 0;  // of the sequence in parts
  std::array<uint64_t, 2> tokens_{};
  Fingerprint fingerprint_;
};

}  // namespace heed::data
