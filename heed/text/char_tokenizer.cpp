#include "heed/text/char_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/own_file.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr int32_t kEos = 0, kUnknown = 1, kFirst = 2;

class CharTokenizer final : public Tokenizer {
 public:
  CharTokenizer(std::u32string characters, int32_t bos) : characters_(std::move(characters)), bos_(bos) {
    for (size_t i = 0; i < characters_.size(); ++i) ids_[characters_[i]] = kFirst + static_cast<int32_t>(i);
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size());
    for (const char32_t c : to_code_points(text)) {
      const auto found = ids_.find(c);
      ids.push_back(found == ids_.end() ? kUnknown : found->second);
    }
    return ids;
  }

  Cuts cuts() const override {
    return [](std::string_view, size_t) { return true; };
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) text += bytes(id);
    return text;
  }

  std::string piece(int32_t id) const override {
    check(id);
    if (id < kFirst) return id == kEos ? "</s>" : "<unk>";
    const char32_t c = character(id);
    return c > ' ' && c != 0x7F ? bytes(id) : fmt::format("<0x{:02X}>", static_cast<uint32_t>(c));
  }

  std::string bytes(int32_t id) const override {
    check(id);
    return id < kFirst ? std::string()
                       : to_utf8(std::u32string_view(&characters_[static_cast<size_t>(id - kFirst)], 1));
  }

  int64_t size() const override { return kFirst + static_cast<int64_t>(characters_.size()); }
  SpecialIds special() const override { return {.eos = kEos, .unk = kUnknown, .pad = -1, .bos = bos_}; }

 private:
  char32_t character(int32_t id) const { return characters_[static_cast<size_t>(id - kFirst)]; }
  void check(int32_t id) const {
    if (id < 0 || id >= size()) fail("[tokenizer] id {} is outside of the vocabulary of {}", id, size());
  }

  std::u32string characters_;
  int32_t bos_;
  std::unordered_map<char32_t, int32_t> ids_;
};

nlohmann::ordered_json head() {
  return {{"type", "char"}, {"version", 1}, {"eos", kEos}, {"unk", kUnknown}, {"first_character", kFirst}};
}

}  // namespace

std::shared_ptr<const Tokenizer> read_char_tokenizer(const std::string& json, const std::string& label) {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  const nlohmann::ordered_json found = read_own_file(json, head(), label, kMaxBytes);
  if (!found.contains("characters") || !found["characters"].is_array())
    fail_file("[tokenizer] {}: 'characters' is no list", label);
  std::u32string characters;
  for (const auto& item : found["characters"]) {
    const std::u32string one = item.is_string() ? to_code_points(item.get<std::string>()) : U"";
    if (one.size() != 1) fail_file("[tokenizer] {}: item {} of 'characters' is no character", label, characters.size());
    characters += one;
  }
  std::u32string sorted = characters;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    fail_file("[tokenizer] {}: {} stands twice in 'characters'", label, in_quotes(to_utf8({&*twice, 1})));
  return std::make_shared<CharTokenizer>(std::move(characters), own_bos(found, kFirst, label));
}

NamedFiles char_files(std::u32string_view characters) {
  nlohmann::ordered_json file = head();
  file["characters"] = nlohmann::ordered_json::array();
  for (const char32_t& c : characters) file["characters"].push_back(to_utf8({&c, 1}));
  return {{kCharFile, file.dump(1) + "\n"}};
}

}  // namespace heed::text
