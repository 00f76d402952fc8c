#include "heed/text/tokenizer_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/mapped_file.h"
#include "heed/text/char_tokenizer.h"
#include "heed/text/spm_tokenizer.h"
#include "heed/text/tokenizer_json.h"

namespace heed::text {
namespace {

using Reader = std::shared_ptr<const Tokenizer> (*)(const NamedFiles&, const std::string& folder);
using File = TokenizerFile;
constexpr TokenizerFile kFiles[] = {{"source.spm", File::kPieces, File::kPair},
                                    {"target.spm", File::kPieces, File::kPair},
                                    {"vocab.json", File::kPieces, File::kEither},
                                    {"target_vocab.json", File::kPieces, File::kPair},
                                    {"tokenizer.json", File::kPieces, File::kSingle},
                                    {"merges.txt", File::kPieces, File::kSingle},
                                    {"tokenizer.model", File::kPieces, File::kSingle},
                                    {"added_tokens.json", File::kPieces, File::kSingle},
                                    {kByteFile, File::kPieces, File::kEither},
                                    {kCharFile, File::kPieces, File::kSingle},
                                    {kPixelsFile, File::kPieces, File::kEither},
                                    {"tokenizer_config.json", File::kSettings, File::kEither},
                                    {"chat_template.jinja", File::kSettings, File::kSingle},
                                    {"special_tokens_map.json", File::kForOthers, File::kSingle}};

std::shared_ptr<const Tokenizer> read_bytes(const NamedFiles& files, const std::string& folder) {
  return read_byte_tokenizer(*find_file(files, kByteFile), folder + "/" + kByteFile);
}

std::shared_ptr<const Tokenizer> read_characters(const NamedFiles& files, const std::string& folder) {
  return read_char_tokenizer(*find_file(files, kCharFile), folder + "/" + kCharFile);
}

// The file that a kind of tokenizer is known by, and how it is read. The first that is there is the tokenizer.
struct Kind {
  const char* file;
  Reader read;
};
constexpr Kind kPairKinds[] = {{"source.spm", nullptr}, {kByteFile, read_bytes}};
constexpr Kind kSingleKinds[] = {{"tokenizer.json", read_json_tokenizer},
                                 {"merges.txt", read_gpt2_tokenizer},
                                 {"tokenizer.model", read_spm_tokenizer},
                                 {kByteFile, read_bytes},
                                 {kCharFile, read_characters}};

const Kind& kind_of(const NamedFiles& files, std::span<const Kind> kinds, const std::string& folder) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) {
    if (find_file(files, kind.file) != nullptr) return kind;
    names.emplace_back(kind.file);
  }
  if (find_file(files, kPixelsFile)) fail_file("[tokenizer] '{}' is a model of images: its ids are no text", folder);
  fail_file("[tokenizer] '{}' holds {}{}", folder, names.size() == 2 ? "neither " : "none of ",
            fmt::join(names, names.size() == 2 ? " nor " : ", "));
}

bool holds(const std::string& folder, std::span<const Kind> kinds) {
  std::error_code ignored;
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const Kind& kind) { return std::filesystem::exists(folder + "/" + kind.file, ignored); });
}

NamedFiles files_in(const std::string& folder, decltype(File::kPair) reader) {
  if (!std::filesystem::is_directory(folder)) fail_file("[tokenizer] '{}' is no folder", folder);
  constexpr size_t kMaxBytes = size_t{256} << 20;  // before a copy is made of it
  NamedFiles files;
  for (const TokenizerFile& f : kFiles) {
    if (f.reader != reader && f.reader != File::kEither) continue;
    const std::string path = folder + "/" + f.name;
    std::error_code ignored;  // a file that cannot be looked at is named when it is opened
    if (std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found) continue;
    const MappedFile file(path);
    if (file.bytes().size() > kMaxBytes) {
      fail_file("[tokenizer] {}: {} bytes, expected at most {}", path, file.bytes().size(), kMaxBytes);
    }
    files.emplace_back(f.name, std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()));
  }
  return files;
}

TokenizerPair read_marian(const NamedFiles& files, const std::string& folder) {
  const auto needed = [&](const std::string& name) -> const std::string& {
    const std::string* content = find_file(files, name);
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
  const std::string* config = find_file(files, "tokenizer_config.json");
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
  const auto config =
      json.size() > kMaxBytes ? nlohmann::json(nlohmann::json::value_t::discarded) : parse_bounded(json);
  if (!config.is_object()) fail_file("[tokenizer] {}: not a JSON object", label);
  const auto found = config.find("separate_vocabs");
  if (found == config.end() || found->is_null()) return false;
  if (!found->is_boolean()) {
    fail_file("[tokenizer] {}: 'separate_vocabs' is no boolean, expected true or false", label);
  }
  return found->get<bool>();
}

const std::string* find_file(const NamedFiles& files, std::string_view name) {
  for (const auto& [known, content] : files) {
    if (known == name) return &content;
  }
  return nullptr;
}

TokenizerPair read_tokenizers(const NamedFiles& files, const std::string& folder) {
  const Kind& kind = kind_of(files, kPairKinds, folder);
  if (kind.read == nullptr) return read_marian(files, folder);
  const auto tokenizer = kind.read(files, folder);
  return {tokenizer, tokenizer, true};
}

std::shared_ptr<const Tokenizer> read_tokenizer(const NamedFiles& files, const std::string& folder) {
  return kind_of(files, kSingleKinds, folder).read(files, folder);
}

std::span<const TokenizerFile> tokenizer_files() { return kFiles; }

bool has_tokenizers(const std::string& folder) { return holds(folder, kPairKinds); }
bool has_tokenizer(const std::string& folder) { return holds(folder, kSingleKinds); }

TokenizerPair load_tokenizers(const std::string& folder) {
  return read_tokenizers(files_in(folder, File::kPair), folder);
}

NamedFiles single_tokenizer_files(const std::string& folder) { return files_in(folder, File::kSingle); }

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& folder) {
  return read_tokenizer(single_tokenizer_files(folder), folder);
}

}  // namespace heed::text
