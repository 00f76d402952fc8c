// The few forms of Protocol Buffers' wire format that a SentencePiece file uses.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "heed/base/error.h"

namespace heed::text {

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of a varint or fixed number
  std::string_view bytes;  // of text or a message

  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

// Gives the fields of a message one after the other. What does not fit into the bytes is an error.
class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& label) : bytes_(bytes), label_(label) {}

  bool next(WireField& field) {
    if (bytes_.empty()) return false;
    const uint64_t tag = varint();
    field = {tag >> 3, static_cast<WireType>(tag & 7), 0, {}};
    if (field.number == 0 || field.number >= uint64_t{1} << 29) damaged();
    switch (field.type) {
      case WireType::kVarint:
        field.value = varint();
        return true;
      case WireType::kFixed64:
        field.value = fixed(8);
        return true;
      case WireType::kFixed32:
        field.value = fixed(4);
        return true;
      case WireType::kBytes:
        field.bytes = take(varint());
        return true;
    }
    damaged();
  }

 private:
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) damaged();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(size_t count) {
    uint64_t value = 0;
    const std::string_view taken = take(count);
    for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<uint8_t>(taken[i])} << (8 * i);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }
  [[noreturn]] void damaged() const { fail_file("[tokenizer] {}: no SentencePiece model, or a damaged one", label_); }

  std::string_view bytes_;
  const std::string& label_;
};

}  // namespace heed::text
