#include <sentencepiece_processor.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/spm_file.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

class MarianTokenizer final : public Tokenizer {
 public:
  MarianTokenizer(const std::string& model, std::shared_ptr<const Vocabulary> vocabulary, const std::string& label)
      : vocabulary_(std::move(vocabulary)) {
    read_spm(model, label);
    const auto status = pieces_.LoadFromSerializedProto(model);
    if (!status.ok()) fail_file("[tokenizer] {}: {}", label, printable(status.ToString(), 200));
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    const std::string clean = replace_invalid(text);
    std::string_view rest = clean;
    std::vector<int32_t> ids;
    if (const int32_t code = take_language_code(rest); code >= 0) ids.push_back(code);
    std::vector<std::string> pieces;
    const auto status = pieces_.Encode(rest, &pieces);
    if (!status.ok()) fail("[tokenizer] {}", printable(status.ToString(), 200));
    ids.reserve(ids.size() + pieces.size());
    for (const std::string& piece : pieces) ids.push_back(vocabulary_->id(piece));
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<std::string> pieces;
    for (const int32_t id : ids) {
      const std::string& piece = vocabulary_->piece(id);
      if (!vocabulary_->is_special(id) && !piece.empty()) pieces.push_back(piece);
    }
    std::string text;
    const auto status = pieces_.Decode(pieces, &text);
    if (!status.ok()) fail("[tokenizer] {}", printable(status.ToString(), 200));
    // What stood beside a special piece may leave blanks at the ends.
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }

  std::string piece(int32_t id) const override { return vocabulary_->piece(id); }

  std::string bytes(int32_t id) const override {
    const std::string& piece = vocabulary_->piece(id);
    return vocabulary_->is_special(id) ? std::string() : text_of_spm_piece(piece);
  }

  int64_t size() const override { return vocabulary_->size(); }
  SpecialIds special() const override { return vocabulary_->special(); }

 private:
  // Models with several target languages are told which by a first word like ">>fra<<". A word of that form which the
  // vocabulary does not know is text.
  int32_t take_language_code(std::string_view& text) const {
    if (!text.starts_with(">>")) return -1;
    const size_t end = text.find("<<");
    if (end == std::string_view::npos) return -1;
    const int32_t id = vocabulary_->id(text.substr(0, end + 2));
    if (id == special().unk) return -1;
    text.remove_prefix(end + 2);
    return id;
  }

  sentencepiece::SentencePieceProcessor pieces_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace

std::shared_ptr<const Tokenizer> marian_tokenizer(const std::string& model,
                                                  std::shared_ptr<const Vocabulary> vocabulary,
                                                  const std::string& label) {
  return std::make_shared<MarianTokenizer>(model, std::move(vocabulary), label);
}

NamedFiles marian_files(const MarianFiles& parts) {
  const nlohmann::ordered_json special = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}};
  nlohmann::ordered_json config = {{"tokenizer_class", "MarianTokenizer"},
                                   {"separate_vocabs", parts.target_vocabulary != nullptr},
                                   {"model_max_length", 512},
                                   {"clean_up_tokenization_spaces", false}};
  config.update(special);
  NamedFiles files = {{"source.spm", parts.source_model},
                      {"target.spm", parts.target_model},
                      {"vocab.json", parts.source_vocabulary->json()},
                      {"tokenizer_config.json", config.dump(2) + "\n"},
                      {"special_tokens_map.json", special.dump(2) + "\n"}};
  if (parts.target_vocabulary != nullptr) files.push_back({"target_vocab.json", parts.target_vocabulary->json()});
  return files;
}

}  // namespace heed::text
