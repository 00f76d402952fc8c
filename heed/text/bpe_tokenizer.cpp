#include "heed/text/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/added_tokens.h"
#include "heed/text/byte_letters.h"
#include "heed/text/merges.h"
#include "heed/text/safe_cuts.h"
#include "heed/text/spm_file.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlank = "▁";

// A piece in GPT-2's alphabet as bytes; nothing where a letter is none of it.
std::optional<std::string> bytes_of_letters(std::string_view piece) {
  static const std::unordered_map<char32_t, char> bytes = [] {
    std::unordered_map<char32_t, char> map;
    const std::array<char32_t, 256> letters = byte_letters();
    for (size_t b = 0; b < 256; ++b) map[letters[b]] = static_cast<char>(b);
    return map;
  }();
  std::string text;
  for (const char32_t letter : to_code_points(piece)) {
    const auto found = bytes.find(letter);
    if (found == bytes.end()) return std::nullopt;
    text += found->second;
  }
  return text;
}

std::string byte_piece(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeParts parts, const std::string& label)
      : bytes_(parts.alphabet == BpeParts::Alphabet::kBytes),
        rules_{parts.words,        parts.compose,          parts.whole_words, parts.blank_before_text,
               parts.unless_blank, parts.blank_after_added},
        decoding_(parts.decoding),
        special_(parts.special),
        written_(std::move(parts.pieces)),
        added_(parts.added) {
    for (const AddedToken& token : parts.added) name_added(written_, token, label);
    for (size_t id = 0; id < written_.size(); ++id) ids_.try_emplace(written_[id], static_cast<int32_t>(id));
    read_texts(parts.added);
    find_letters(label);
    for (const auto& [left, right] : parts.merges) add_merge(left, right, label);
  }

  std::vector<int32_t> encode(std::string_view text) const override { return encode(text, true); }
  std::vector<int32_t> encode_on(std::string_view text) const override { return encode(text, false); }

  Cuts cuts() const override {
    const auto neighbours = std::make_shared<Neighbours>();
    for (size_t id = 0; !bytes_ && id < written_.size(); ++id) neighbours->add(written_[id]);
    return [this, neighbours](std::string_view text, size_t at) {
      const bool apart = bytes_ ? words_part_at(text, at) : !neighbours->joined_at(text, at);
      return apart && !added_.touches(text, at);
    };
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string all;
    bool first = true;
    for (const int32_t id : ids) {
      std::string text = bytes(id);
      const bool shown = !text.empty();
      if (first && decoding_.first_piece && std::find(letters_.begin(), letters_.end(), id) == letters_.end())
        std::erase(text, ' ');
      first = first && !shown;
      all += text;
    }
    all.erase(0, std::min(all.find_first_not_of(' '), blanks_before()));
    return replace_invalid(all);
  }

  std::string piece(int32_t id) const override {
    check(id);
    return written_[static_cast<size_t>(id)];
  }

  std::string bytes(int32_t id) const override {
    check(id);
    return texts_[static_cast<size_t>(id)];
  }

  int64_t size() const override { return static_cast<int64_t>(written_.size()); }
  SpecialIds special() const override { return special_; }

 private:
  std::vector<int32_t> encode(std::string_view text, bool begins) const {
    const std::string valid = replace_invalid(text);
    std::vector<int32_t> ids;
    for (const AddedTokens::Part& part : added_.split(valid)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
        continue;
      }
      const bool first = part.text.data() == valid.data();
      const bool led = rules_.blank_before_text && !part.goes_on && (first ? begins : rules_.blank_after_added);
      bytes_ ? encode_bytes(part.text, led, ids) : encode_characters(part.text, led, ids);
    }
    return ids;
  }

  void check(int32_t id) const {
    if (id < 0 || id >= size()) fail("[tokenizer] id {} is outside of the vocabulary of {}", id, size());
  }

  // Those that decoding leaves out; the byte-level tokenizers leave them there.
  size_t blanks_before() const {
    if (bytes_ || decoding_.first_piece) return 0;
    return static_cast<size_t>(decoding_.blanks.value_or(rules_.blank_before_text));
  }

  int32_t id_of(const std::string& piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? -1 : found->second;
  }

  // The text of each id.
  void read_texts(const std::vector<AddedToken>& added) {
    for (const std::string& piece : written_) {
      texts_.push_back(bytes_ ? bytes_of_letters(piece).value_or(piece) : text_of_spm_piece(piece, decoding_.bytes));
    }
    for (const AddedToken& token : added) texts_[static_cast<size_t>(token.id)] = token.special ? "" : token.text;
  }

  // The ids that merging starts with: one a byte. Without them a text could not be written at all.
  void find_letters(const std::string& label) {
    const std::array<char32_t, 256> letters = byte_letters();
    for (size_t b = 0; b < 256; ++b) {
      const std::string piece = bytes_ ? to_utf8(std::u32string(1, letters[b])) : byte_piece(static_cast<uint8_t>(b));
      letters_[b] = id_of(piece);
      if (letters_[b] < 0) fail_file("[tokenizer] {}: lacks {}, the piece of byte {}", label, in_quotes(piece), b);
    }
  }

  void add_merge(const std::string& left, const std::string& right, const std::string& label) {
    const int32_t a = id_of(left), b = id_of(right), merged = id_of(left + right);
    if (a < 0 || b < 0 || merged < 0) {
      fail_file("[tokenizer] {}: the merge of {} and {} is of or into no piece", label, in_quotes(left),
                in_quotes(right));
    }
    merges_.add(a, b, merged);
  }

  void encode_bytes(std::string_view part, bool led, std::vector<int32_t>& ids) const {
    std::string text = rules_.compose ? to_nfc(part) : std::string(part);
    if (led && !text.starts_with(' ')) text.insert(text.begin(), ' ');
    for (const std::string_view word : split_words(text, rules_.words)) {
      if (const int32_t whole = rules_.whole_words ? whole_word(word) : -1; whole >= 0) {
        ids.push_back(whole);
        continue;
      }
      std::vector<int32_t> letters;
      for (const char c : word) letters.push_back(letters_[static_cast<uint8_t>(c)]);
      const std::vector<int32_t> merged = merges_.apply(letters);
      ids.insert(ids.end(), merged.begin(), merged.end());
    }
  }

  int32_t whole_word(std::string_view word) const {
    static constexpr std::array<char32_t, 256> letters = byte_letters();
    std::string piece;
    for (const char c : word) append_utf8(piece, letters[static_cast<uint8_t>(c)]);
    return id_of(piece);
  }

  void encode_characters(std::string_view text, bool led, std::vector<int32_t>& ids) const {
    std::string marked;
    for (const char c : text) c == ' ' ? void(marked += kBlank) : marked.push_back(c);
    if (led && !(rules_.unless_blank && marked.starts_with(kBlank))) marked.insert(0, kBlank);
    std::vector<int32_t> letters;
    for (const char32_t c : to_code_points(marked)) {
      const std::string character = to_utf8(std::u32string(1, c));
      if (const int32_t id = id_of(character); id >= 0) {
        letters.push_back(id);
      } else {
        for (const char byte : character) letters.push_back(letters_[static_cast<uint8_t>(byte)]);
      }
    }
    const std::vector<int32_t> merged = merges_.apply(letters);
    ids.insert(ids.end(), merged.begin(), merged.end());
  }

  // What BpeParts says beside the pieces.
  struct Rules {
    WordRule words;
    bool compose, whole_words, blank_before_text, unless_blank, blank_after_added;
  };
  const bool bytes_;
  const Rules rules_;
  const BpeParts::Decoding decoding_;
  const SpecialIds special_;
  std::vector<std::string> written_, texts_;  // by id: as the files write it, and what it stands for
  AddedTokens added_;
  std::unordered_map<std::string, int32_t> ids_;
  std::array<int32_t, 256> letters_{};
  Merges merges_;
};

}  // namespace

std::shared_ptr<const Tokenizer> bpe_tokenizer(BpeParts parts, const std::string& label) {
  return std::make_shared<BpeTokenizer>(std::move(parts), label);
}

}  // namespace heed::text
