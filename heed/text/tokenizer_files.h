// Tokenizers from the contents of their files: what is read from a folder, training makes in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heed/text/tokenizer.h"
#include "heed/text/vocabulary.h"

namespace heed::text {

using NamedFiles = std::vector<std::pair<std::string, std::string>>;  // names and contents

// `folder` stands before the names in messages.
TokenizerPair read_tokenizers(const NamedFiles& files, const std::string& folder);
std::shared_ptr<const Tokenizer> read_tokenizer(const NamedFiles& files, const std::string& folder);
// What load_tokenizer() reads.
NamedFiles single_tokenizer_files(const std::string& folder);
const std::string* find_file(const NamedFiles& files, std::string_view name);  // null: it is not there

// What tokenizer_config.json says; other settings of it have no effect on the ids.
bool separate_vocabularies(const std::string& json, const std::string& label);

// SentencePiece for cutting, a vocabulary for the ids: Marian's way. The model is checked before it is used.
std::shared_ptr<const Tokenizer> marian_tokenizer(const std::string& model,
                                                  std::shared_ptr<const Vocabulary> vocabulary,
                                                  const std::string& label);
// The files of a Marian tokenizer; without a target vocabulary, the source's is both sides'.
struct MarianFiles {
  std::string source_model, target_model;
  const Vocabulary* source_vocabulary = nullptr;
  const Vocabulary* target_vocabulary = nullptr;
};
NamedFiles marian_files(const MarianFiles& parts);

// Every byte is an id: nothing to train, nothing unknown. Invalid UTF-8 is replaced all the same.
constexpr const char* kByteFile = "byte_tokenizer.json";
std::shared_ptr<const Tokenizer> byte_tokenizer(int32_t bos = -1);
NamedFiles byte_files();
std::shared_ptr<const Tokenizer> read_byte_tokenizer(const std::string& json, const std::string& label);

}  // namespace heed::text
