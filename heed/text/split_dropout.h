// BPE-dropout (Provilkov et al. 2020): merges are passed over at random, so that one text is cut into other pieces each
// time. A small corpus then also teaches how its words are built.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/base/random.h"
#include "heed/text/merges.h"
#include "heed/text/tokenizer.h"

namespace heed::text {

class SplitDropout {
 public:
  // Of a SentencePiece BPE tokenizer that heed trained: of two pieces the one with the lower id is merged first.
  SplitDropout(const Tokenizer& tokenizer, double probability);
  // Cuts anew what was encoded before. A word with a character that has no piece of its own stays as it is.
  std::vector<int32_t> cut(std::span<const int32_t> ids, Random& random) const;
  // Whether these are the ids that it cuts with no merge passed over: those of any other tokenizer it would take apart.
  // Never where nothing is merged.
  bool merges_to(std::span<const int32_t> ids) const;

 private:
  template <class PassedOver>
  std::vector<int32_t> merged(std::span<const int32_t> ids, PassedOver passed_over) const;
  std::string_view piece_of(int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  bool begins_word(int32_t before, int32_t id) const;
  bool spell(std::span<const int32_t> word, std::vector<int32_t>& letters) const;

  double probability_;
  std::vector<std::string> pieces_;  // "" of an id that is no text
  std::unordered_map<std::string_view, int32_t> ids_;
  Merges merges_;
};

}  // namespace heed::text
