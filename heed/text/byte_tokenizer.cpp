#include "heed/base/error.h"
#include "heed/text/own_file.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr int32_t kFirstByte = 3;  // after eos, unk and pad
constexpr int32_t kSize = kFirstByte + 256;

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(int32_t bos) : bos_(bos) {}

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for (const char c : replace_invalid(text)) ids.push_back(kFirstByte + static_cast<uint8_t>(c));
    return ids;
  }

  Cuts cuts() const override {
    return [](std::string_view, size_t) { return true; };
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string bytes;
    for (const int32_t id : ids) {
      check(id);
      if (id >= kFirstByte) bytes += static_cast<char>(id - kFirstByte);
    }
    return replace_invalid(bytes);
  }

  std::string piece(int32_t id) const override {
    check(id);
    if (id < kFirstByte) return std::array{"</s>", "<unk>", "<pad>"}[static_cast<size_t>(id)];
    const int32_t byte = id - kFirstByte;
    return byte > ' ' && byte < 0x7F ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte);
  }

  std::string bytes(int32_t id) const override {
    check(id);
    return id < kFirstByte ? std::string() : std::string(1, static_cast<char>(id - kFirstByte));
  }

  int64_t size() const override { return kSize; }
  SpecialIds special() const override { return {.bos = bos_}; }

 private:
  static void check(int32_t id) {
    if (id < 0 || id >= kSize) fail("[tokenizer] id {} is outside of the vocabulary of {}", id, kSize);
  }

  int32_t bos_;
};

// One format so far.
nlohmann::ordered_json description() {
  return {{"type", "byte"}, {"version", 1}, {"eos", 0}, {"unk", 1}, {"pad", 2}, {"first_byte", kFirstByte}};
}

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer(int32_t bos) { return std::make_shared<ByteTokenizer>(bos); }

NamedFiles byte_files() { return {{kByteFile, description().dump(2) + "\n"}}; }

std::shared_ptr<const Tokenizer> read_byte_tokenizer(const std::string& json, const std::string& label) {
  constexpr size_t kMaxBytes = 65536;
  return byte_tokenizer(own_bos(read_own_file(json, description(), label, kMaxBytes), kFirstByte, label));
}

}  // namespace heed::text
