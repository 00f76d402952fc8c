// Pieces and their ids, as in vocab.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/text/tokenizer.h"

namespace heed::text {

class Vocabulary {
 public:
  // {"</s>": 0, "<unk>": 1, ...} in any order: </s>, <unk> and <pad> must be there, ids must differ. `label` begins the
  // message of an error.
  static Vocabulary parse(std::string_view json, const std::string& label);
  explicit Vocabulary(std::vector<std::string> pieces, const std::string& label = "vocabulary");
  Vocabulary(Vocabulary&&) = default;  // the views of the table stay good: the pieces do not move
  Vocabulary& operator=(Vocabulary&&) = default;

  std::string json() const;

  int64_t size() const { return static_cast<int64_t>(pieces_.size()); }
  SpecialIds special() const { return special_; }
  // The id of what text may become: never a special one, unk for what is not there.
  int32_t id(std::string_view piece) const;
  const std::string& piece(int32_t id) const;  // "" for an id that no piece has; an error outside of the vocabulary
  bool is_special(int32_t id) const { return id == special_.eos || id == special_.unk || id == special_.pad; }

 private:
  std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, int32_t> ids_;
  SpecialIds special_;
};

}  // namespace heed::text
