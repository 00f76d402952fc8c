// Where a text may be cut without another id: what the kinds of tokenizers need to say so.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace heed::text {

// Between words of any of the published patterns: before a blank, behind what no pattern joins with it.
bool words_part_at(std::string_view text, size_t at);

// Characters that stand side by side in some piece, with "▁" as the blank that it is. Where two do not, no piece and no
// merge lies across them.
class Neighbours {
 public:
  void add(std::string_view piece);
  bool joined_at(std::string_view text, size_t at) const;

 private:
  std::unordered_set<uint64_t> pairs_;
};

}  // namespace heed::text
