// A SentencePiece model file read by heed itself, before SentencePiece is trusted with it: the library reads tables in
// such a file without looking whether they stay inside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::text {

enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct SpmPiece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

struct SpmFile {
  std::vector<SpmPiece> pieces;  // in the order of their ids; they point into the bytes
  bool byte_fallback = false;
  bool blank_before_text = true;  // a text starts as if a blank stood before it
  bool rewrites = true;           // blanks are left out, or characters become others
};

// The text that a piece stands for: "▁" is a blank, "<0x0A>" a byte, where there are any.
std::string text_of_spm_piece(std::string_view piece, bool has_bytes = true);

// Checks everything that SentencePiece takes for granted. `label` begins the message of an error: "MODEL/source.spm".
SpmFile read_spm(std::string_view bytes, const std::string& label);

// The rules that a file brings for rewriting characters: a table in memory form, which SentencePiece walks unchecked.
void check_charsmap(std::string_view map, const std::string& label);

}  // namespace heed::text
