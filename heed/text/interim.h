#pragma once
#include "heed/base/error.h"
#include "heed/io/mapped_file.h"
#include "heed/text/char_tokenizer.h"
#include "heed/text/tokenizer_json.h"
namespace heed::text {
inline std::shared_ptr<const Tokenizer> read_tokenizer(const NamedFiles& files, const std::string& folder) {
  for (const auto& [name, content] : files) {
    if (name == kCharFile) return read_char_tokenizer(content, folder);
    if (name == "byte_tokenizer.json") return byte_tokenizer();
    if (name == "tokenizer.json") {
      BpeParts parts = parse_tokenizer_json(content, folder);
      parts.special.eos = parts.added.at(0).id;
      return bpe_tokenizer(std::move(parts), folder);
    }
  }
  fail("no tokenizer");
}
inline std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& folder) {
  for (const char* name : {kCharFile, "byte_tokenizer.json", "tokenizer.json"}) {
    try {
      const MappedFile file(folder + "/" + name);
      return read_tokenizer({{name, std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size())}}, folder);
    } catch (const FileError&) {
    }
  }
  fail("no tokenizer");
}
inline int32_t start_of(const SpecialIds& ids) { return ids.eos; }
}  // namespace heed::text
