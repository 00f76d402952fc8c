#include "heed/text/spm_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/added_tokens.h"
#include "heed/text/safe_cuts.h"
#include "heed/text/spm_file.h"
#include "heed/text/tokenizer_settings.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

class SpmTokenizer final : public Tokenizer {
 public:
  SpmTokenizer(const std::string& model, TokenizerSettings settings, const std::string& label)
      : blank_after_added_(settings.legacy.value_or(true)) {
    const SpmFile file = read_spm(model, label);
    blank_before_text_ = file.blank_before_text;
    may_cut_ = !file.rewrites && file.byte_fallback;
    for (const SpmPiece& piece : file.pieces) {
      const bool silent = piece.type == PieceType::kControl || piece.type == PieceType::kUnknown;
      written_.emplace_back(piece.text);
      texts_.push_back(silent ? "" : text_of_spm_piece(piece.text));
      if (piece.type == PieceType::kUnknown && settings.unk.empty()) settings.unk = piece.text;
    }
    name_special(settings, label);
    load(model, with_blank_, label);
    // The same file, but for its blank before a text: a later setting counts.
    constexpr std::string_view kNoBlank("\x1A\x02\x18\x00", 4);
    if (!blank_after_added_ || may_cut_) load(model + std::string(kNoBlank), without_blank_, label);
  }

  std::vector<int32_t> encode(std::string_view text) const override { return encode(text, true); }
  std::vector<int32_t> encode_on(std::string_view text) const override { return encode(text, !may_cut_); }

  Cuts cuts() const override {
    const auto neighbours = std::make_shared<Neighbours>();
    for (size_t id = 0; may_cut_ && id < written_.size(); ++id) neighbours->add(written_[id]);
    return [this, neighbours](std::string_view text, size_t at) {
      return may_cut_ && !neighbours->joined_at(text, at) && !added_->touches(text, at);
    };
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string all;
    for (const int32_t id : ids) all += bytes(id);
    if (blank_before_text_ && all.starts_with(' ')) all.erase(0, 1);
    return replace_invalid(all);
  }

  std::string piece(int32_t id) const override { return written_[check(id)]; }
  std::string bytes(int32_t id) const override { return texts_[check(id)]; }
  int64_t size() const override { return static_cast<int64_t>(written_.size()); }
  SpecialIds special() const override { return special_; }

 private:
  std::vector<int32_t> encode(std::string_view text, bool begins) const {
    const std::string clean = replace_invalid(text);
    std::vector<int32_t> ids;
    for (const AddedTokens::Part& part : added_->split(clean)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
        continue;
      }
      const bool first = part.text.data() == clean.data();
      std::vector<int> found;
      const auto status =
          ((first ? begins : blank_after_added_) ? with_blank_ : without_blank_).Encode(part.text, &found);
      if (!status.ok()) fail("[tokenizer] {}", printable(status.ToString(), 200));
      ids.insert(ids.end(), found.begin(), found.end());
    }
    return ids;
  }

  size_t check(int32_t id) const {
    if (id < 0 || id >= size()) fail("[tokenizer] id {} is outside of the vocabulary of {}", id, size());
    return static_cast<size_t>(id);
  }

  static void load(const std::string& model, sentencepiece::SentencePieceProcessor& pieces, const std::string& label) {
    const auto status = pieces.LoadFromSerializedProto(model);
    if (!status.ok()) fail_file("[tokenizer] {}: {}", label, printable(status.ToString(), 200));
  }

  int32_t id_of(const std::string& text) const {
    const auto found = std::find(written_.begin(), written_.end(), text);
    return found == written_.end() ? -1 : static_cast<int32_t>(found - written_.begin());
  }

  // The named special tokens and those that were added later stand for one id wherever they appear in a text.
  void name_special(TokenizerSettings& settings, const std::string& label) {
    if (settings.bos.empty()) settings.bos = "<s>";
    if (settings.eos.empty()) settings.eos = "</s>";
    std::vector<AddedToken> added = settings.added;
    for (const AddedToken& token : added) name_added(written_, token, label);
    texts_.resize(written_.size());
    special_ = settings.special([&](const std::string& name) { return id_of(name); });
    const int32_t bos = id_of(settings.bos);
    if (settings.add_bos.value_or(true)) special_.bos = bos;
    for (const int32_t id : {bos, special_.eos, special_.unk, special_.pad}) {
      const auto same = [id](const AddedToken& token) { return token.id == id; };
      if (id >= 0 && std::none_of(added.begin(), added.end(), same)) added.push_back({written_[check(id)], id, true});
    }
    for (const AddedToken& token : added) texts_[check(token.id)] = token.special ? "" : token.text;
    added_ = std::make_unique<AddedTokens>(std::move(added));
  }

  bool blank_before_text_ = true, may_cut_ = false;
  const bool blank_after_added_;
  SpecialIds special_ = {-1, -1, -1};
  std::vector<std::string> written_, texts_;  // by id: as the file writes it, and what it stands for
  std::unique_ptr<const AddedTokens> added_;
  sentencepiece::SentencePieceProcessor with_blank_, without_blank_;
};

}  // namespace

std::shared_ptr<const Tokenizer> read_spm_tokenizer(const NamedFiles& files, const std::string& folder) {
  TokenizerSettings settings = read_settings(files, folder);
  if (!settings.type.empty() && !settings.is_llama()) {
    fail_file("[tokenizer] {}/tokenizer_config.json: a tokenizer of class {}, expected LlamaTokenizer", folder,
              in_quotes(settings.type));
  }
  return std::make_shared<SpmTokenizer>(*find_file(files, "tokenizer.model"), std::move(settings),
                                        folder + "/tokenizer.model");
}

}  // namespace heed::text
