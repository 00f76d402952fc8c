#include "heed/text/spm_file.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/unicode.h"
#include "heed/text/wire.h"

namespace heed::text {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr size_t kMaxPieces = size_t{1} << 22;
constexpr size_t kMaxPieceBytes = 7999;       // SentencePiece's own limit
constexpr size_t kMaxUnusedPieceBytes = 256;  // they are taken apart by recursion
constexpr float kMaxScore = 1e9f;             // sums over a long line must stay finite
constexpr size_t kMaxNested = 32;  // user-defined pieces that begin one another: SentencePiece keeps 64 at a time

// Field numbers of sentencepiece_model.proto.
enum ModelField : uint64_t { kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };
enum PieceField : uint64_t { kText = 1, kScore = 2, kType = 3 };
enum TrainerField : uint64_t { kModelType = 3, kByteFallback = 35 };
enum NormalizerField : uint64_t { kCharsmap = 2, kDummyPrefix = 3, kFewerBlanks = 4 };

// "<0x0A>" is 10; -1 where it is no such piece.
int byte_of_piece(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const size_t high = kDigits.find(text[3]), low = kDigits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int>(16 * high + low);
}

class Checker {
 public:
  explicit Checker(const std::string& label) : label_(label) {}

  SpmFile read(std::string_view bytes) {
    if (bytes.empty()) refuse("is empty");
    if (bytes.size() > kMaxBytes) refuse("has {} bytes, expected at most {}", bytes.size(), kMaxBytes);
    WireReader reader(bytes, label_);
    for (WireField field; reader.next(field);) {
      if (field.number == kPieces) add_piece(message(field));
      if (field.number == kTrainer) read_trainer(message(field));
      if (field.number == kNormalizer) read_blank(message(field));
      if (field.number == kNormalizer || field.number == kDenormalizer) read_normalizer(message(field));
    }
    check_all();
    return std::move(file_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_file("[tokenizer] {} {}", label_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view message(const WireField& field) const {
    if (field.type != WireType::kBytes) refuse("is damaged: field {} is a number", field.number);
    return field.bytes;
  }

  void add_piece(std::string_view bytes) {
    SpmPiece piece;
    WireReader reader(bytes, label_);
    for (WireField field; reader.next(field);) {
      if (field.number == kText) piece.text = message(field);
      if (field.number == kScore && field.type == WireType::kFixed32) piece.score = field.as_float();
      if (field.number == kType && field.type == WireType::kVarint) {
        if (field.value < 1 || field.value > 6) refuse("is damaged: piece {} is of type {}", count(), field.value);
        piece.type = static_cast<PieceType>(field.value);
      }
    }
    check_piece(piece);
    file_.pieces.push_back(piece);
  }

  size_t count() const { return file_.pieces.size(); }

  void check_piece(const SpmPiece& piece) {
    if (count() == kMaxPieces) refuse("has more than {} pieces", kMaxPieces);
    if (piece.text.empty()) refuse("is damaged: piece {} is empty", count());
    const size_t limit = piece.type == PieceType::kUnused ? kMaxUnusedPieceBytes : kMaxPieceBytes;
    if (piece.text.size() > limit) {
      refuse("is damaged: piece {} has {} bytes, expected at most {}", count(), piece.text.size(), limit);
    }
    if (piece.text.find('\0') != std::string_view::npos || !valid_utf8(piece.text)) {
      refuse("is damaged: piece {} is no text", count());
    }
    if (!(std::abs(piece.score) <= kMaxScore)) refuse("is damaged: the score of piece {} is {}", count(), piece.score);
    if (!seen_.insert(piece.text).second) refuse("is damaged: piece {} appears twice", in_quotes(piece.text));
    unknown_ += piece.type == PieceType::kUnknown;
    if (piece.type == PieceType::kByte) count_byte(piece.text);
    if (piece.type == PieceType::kUserDefined) user_defined_.push_back(piece.text);
  }

  void count_byte(std::string_view text) {
    if (byte_of_piece(text) < 0) refuse("is damaged: piece {} stands for no byte", in_quotes(text));
    ++bytes_;  // all 256 when there are so many: no piece appears twice
  }

  void read_trainer(std::string_view bytes) {
    WireReader reader(bytes, label_);
    for (WireField field; reader.next(field);) {
      if (field.number == kModelType && (field.value < 1 || field.value > 4)) {
        refuse("is damaged: model type {}, expected 1 to 4", field.value);
      }
      if (field.number == kByteFallback) file_.byte_fallback = field.value != 0;
    }
  }

  void read_normalizer(std::string_view bytes) {
    WireReader reader(bytes, label_);
    for (WireField field; reader.next(field);) {
      if (field.number == kCharsmap && !message(field).empty()) check_charsmap(field.bytes, label_);
    }
  }

  void read_blank(std::string_view bytes) {
    WireReader reader(bytes, label_);
    bool fewer_blanks = true, map = false;
    for (WireField field; reader.next(field);) {
      if (field.number == kDummyPrefix) file_.blank_before_text = field.value != 0;
      if (field.number == kFewerBlanks) fewer_blanks = field.value != 0;
      if (field.number == kCharsmap) map = !field.bytes.empty();
    }
    file_.rewrites = fewer_blanks || map;
  }

  void check_all() {
    if (file_.pieces.empty()) refuse("has no pieces");
    if (unknown_ != 1) refuse("is damaged: {} pieces stand for the unknown, expected 1", unknown_);
    if (bytes_ != (file_.byte_fallback ? 256u : 0u)) {
      refuse("is damaged: {} pieces stand for bytes, expected {}", bytes_, file_.byte_fallback ? 256 : 0);
    }
    std::sort(user_defined_.begin(), user_defined_.end());
    std::vector<std::string_view> open;  // those that the next one may begin with
    for (const std::string_view piece : user_defined_) {
      while (!open.empty() && !piece.starts_with(open.back())) open.pop_back();
      open.push_back(piece);
      if (open.size() > kMaxNested) refuse("is damaged: more than {} pieces begin one another", kMaxNested);
    }
  }

  const std::string& label_;
  SpmFile file_;
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> user_defined_;
  size_t unknown_ = 0, bytes_ = 0;
};

}  // namespace

std::string text_of_spm_piece(std::string_view piece, bool has_bytes) {
  if (const int byte = byte_of_piece(piece); has_bytes && byte >= 0) return std::string(1, static_cast<char>(byte));
  constexpr std::string_view kBlank = "▁";
  std::string text(piece);
  for (size_t at = 0; (at = text.find(kBlank, at)) != std::string::npos;) text.replace(at, kBlank.size(), " ");
  return text;
}

SpmFile read_spm(std::string_view bytes, const std::string& label) { return Checker(label).read(bytes); }

}  // namespace heed::text
