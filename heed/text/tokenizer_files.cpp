#include "heed/text/tokenizer_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/mapped_file.h"

namespace heed::text {
namespace {

constexpr const char* kByteFile = "byte_tokenizer.json";
constexpr TokenizerFile kFiles[] = {{"source.spm", TokenizerFile::kPieces},
                                    {"target.spm", TokenizerFile::kPieces},
                                    {"vocab.json", TokenizerFile::kPieces},
                                    {"target_vocab.json", TokenizerFile::kPieces},
                                    {kByteFile, TokenizerFile::kPieces},
                                    {"tokenizer_config.json", TokenizerFile::kSettings},
                                    {"special_tokens_map.json", TokenizerFile::kForOthers}};

const std::string* find(const NamedFiles& files, std::string_view name) {
  for (const auto& [known, content] : files) {
    if (known == name) return &content;
  }
  return nullptr;
}

TokenizerPair read_marian(const NamedFiles& files, const std::string& folder) {
  const auto needed = [&](const std::string& name) -> const std::string& {
    const std::string* content = find(files, name);
    if (content == nullptr) fail_file("[tokenizer] '{}' lacks {}", folder, name);
    return *content;
  };
  const auto vocabulary = [&](const std::string& name) {
    return std::make_shared<const Vocabulary>(Vocabulary::parse(needed(name), folder + "/" + name));
  };
  const std::string& source_model = needed("source.spm");
  const std::string& target_model = needed("target.spm");
  const auto source_vocabulary = vocabulary("vocab.json");
  TokenizerPair pair;
  pair.source = marian_tokenizer(source_model, source_vocabulary, folder + "/source.spm");
  const std::string* config = find(files, "tokenizer_config.json");
  pair.one_vocabulary = config == nullptr || !separate_vocabularies(*config, folder + "/tokenizer_config.json");
  if (pair.one_vocabulary && source_model == target_model) {
    pair.target = pair.source;
  } else {
    pair.target =
        marian_tokenizer(target_model, pair.one_vocabulary ? source_vocabulary : vocabulary("target_vocab.json"),
                         folder + "/target.spm");
  }
  return pair;
}

}  // namespace

bool separate_vocabularies(const std::string& json, const std::string& label) {
  constexpr size_t kMaxBytes = size_t{16} << 20;  // those of other models list their added tokens here
  const auto config = json.size() > kMaxBytes ? nlohmann::json(nlohmann::json::value_t::discarded)
                                              : nlohmann::json::parse(json, nullptr, false);
  if (!config.is_object()) fail_file("[tokenizer] {}: not a JSON object", label);
  const auto found = config.find("separate_vocabs");
  if (found == config.end() || found->is_null()) return false;
  if (!found->is_boolean()) {
    fail_file("[tokenizer] {}: 'separate_vocabs' is no boolean, expected true or false", label);
  }
  return found->get<bool>();
}

TokenizerPair read_tokenizers(const NamedFiles& files, const std::string& folder) {
  if (find(files, "source.spm") != nullptr) return read_marian(files, folder);
  const std::string* bytes = find(files, kByteFile);
  if (bytes == nullptr) fail_file("[tokenizer] '{}' holds neither source.spm nor {}", folder, kByteFile);
  check_byte_file(*bytes, folder + "/" + kByteFile);
  const auto tokenizer = byte_tokenizer();
  return {tokenizer, tokenizer, true};
}

std::span<const TokenizerFile> tokenizer_files() { return kFiles; }

bool has_tokenizers(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder + "/source.spm", ignored) ||
         std::filesystem::exists(folder + "/" + kByteFile, ignored);
}

TokenizerPair load_tokenizers(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) fail_file("[tokenizer] '{}' is no folder", folder);
  constexpr size_t kMaxBytes = size_t{256} << 20;  // before a copy is made of it
  NamedFiles files;
  for (const auto& [name, role] : kFiles) {
    if (role == TokenizerFile::kForOthers) continue;
    const std::string path = folder + "/" + name;
    std::error_code ignored;  // a file that cannot be looked at is named when it is opened
    if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) continue;
    const MappedFile file(path);
    if (file.bytes().size() > kMaxBytes) {
      fail_file("[tokenizer] {}: {} bytes, expected at most {}", path, file.bytes().size(), kMaxBytes);
    }
    files.emplace_back(name, std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()));
  }
  return read_tokenizers(files, folder);
}

}  // namespace heed::text
