#include "heed/text/split_dropout.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::text {
namespace {

constexpr std::string_view kBlank = "▁";

bool starts_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

// "<0x41>": one byte of a character that has no piece.
bool is_byte_piece(std::string_view piece) { return piece.size() == 6 && piece.starts_with("<0x"); }

size_t next_character(std::string_view text, size_t at) {
  do ++at;
  while (at < text.size() && !starts_character(text[at]));
  return at;
}

}  // namespace

SplitDropout::SplitDropout(const Tokenizer& tokenizer, double probability) : probability_(probability) {
  if (!(probability >= 0 && probability < 1))
    fail("[split dropout] probability {}, expected 0 to less than 1", probability);
  const SpecialIds special = tokenizer.special();
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string piece = tokenizer.piece(id);
    const bool text = id != special.eos && id != special.unk && id != special.pad && id != special.bos;
    pieces_.push_back(text && !is_byte_piece(piece) ? piece : "");
  }
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (!pieces_[id].empty()) ids_.emplace(pieces_[id], static_cast<int32_t>(id));
  }
  for (size_t id = 0; id < pieces_.size(); ++id) {
    const std::string_view piece = pieces_[id];
    for (size_t at = next_character(piece, 0); at < piece.size(); at = next_character(piece, at)) {
      const auto left = ids_.find(piece.substr(0, at)), right = ids_.find(piece.substr(at));
      const auto merged = static_cast<int32_t>(id);
      if (left != ids_.end() && right != ids_.end()) merges_.add(left->second, right->second, merged, merged);
    }
  }
}

// SentencePiece merges nothing across a blank, nor across what is no text.
bool SplitDropout::begins_word(int32_t before, int32_t id) const {
  const std::string_view piece = piece_of(id);
  return piece.starts_with(kBlank) || piece.empty() || piece_of(before).empty();
}

// False where a letter has no piece.
bool SplitDropout::spell(std::span<const int32_t> word, std::vector<int32_t>& letters) const {
  letters.clear();
  for (const int32_t id : word) {
    const std::string_view piece = piece_of(id);
    if (piece.empty()) return false;
    for (size_t at = 0; at < piece.size();) {
      const size_t end = next_character(piece, at);
      const auto letter = ids_.find(piece.substr(at, end - at));
      if (letter == ids_.end()) return false;
      letters.push_back(letter->second);
      at = end;
    }
  }
  return true;
}

template <class PassedOver>
std::vector<int32_t> SplitDropout::merged(std::span<const int32_t> ids, PassedOver passed_over) const {
  std::vector<int32_t> all, letters;
  for (size_t begin = 0; begin < ids.size();) {
    size_t end = begin + 1;
    while (end < ids.size() && !begins_word(ids[end - 1], ids[end])) ++end;
    const std::span<const int32_t> word = ids.subspan(begin, end - begin);
    if (spell(word, letters)) {
      const std::vector<int32_t> pieces = merges_.apply(letters, passed_over);
      all.insert(all.end(), pieces.begin(), pieces.end());
    } else {
      all.insert(all.end(), word.begin(), word.end());
    }
    begin = end;
  }
  return all;
}

std::vector<int32_t> SplitDropout::cut(std::span<const int32_t> ids, Random& random) const {
  return merged(ids, [&] { return random.uniform() < probability_; });
}

bool SplitDropout::merges_to(std::span<const int32_t> ids) const {
  return merges_.size() > 0 && std::ranges::equal(merged(ids, [] { return false; }), ids);
}

}  // namespace heed::text
