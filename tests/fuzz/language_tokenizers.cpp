// Throws bytes at the tokenizer files of language models: each is taken or refused with one clean line, and what is
// taken can cut and join any text. `make fuzz` runs it. The first byte says which file the rest is.
#include <algorithm>
#include <cstdint>
#include <string>

#include "heed/base/error.h"
#include "heed/text/tokenizer_files.h"
#include "support/tokenizer_use.h"

namespace {

using heed::text::NamedFiles;

// vocab.json up to the first zero byte, merges.txt behind it.
NamedFiles gpt2_files(const std::string& content) {
  const size_t zero = std::min(content.find('\0'), content.size());
  return {{"vocab.json", content.substr(0, zero)}, {"merges.txt", content.substr(std::min(zero + 1, content.size()))}};
}

// tokenizer_config.json up to the first zero byte, added_tokens.json behind it, beside the smallest SentencePiece file.
NamedFiles settings_files(const std::string& content) {
  const size_t zero = std::min(content.find('\0'), content.size());
  const std::string pieces =
      "\x0A\x09\x0A\x05<unk>\x18\x02"
      "\x0A\x03\x0A\x01z"
      "\x0A\x05\x0A\x03\xE2\x96\x81"
      "\x12\x02\x18\x02";
  NamedFiles files = {{"tokenizer.model", pieces}, {"tokenizer_config.json", content.substr(0, zero)}};
  if (zero < content.size()) files.push_back({"added_tokens.json", content.substr(zero + 1)});
  return files;
}

NamedFiles files_of(char kind, const std::string& content) {
  switch (kind) {
    case 'j':
      return {{"tokenizer.json", content}};
    case 'm':
      return gpt2_files(content);
    case 'l':
      return {{"tokenizer.model", content}};
    case 'h':
      return {{"char_tokenizer.json", content}};
    default:
      return settings_files(content);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    use(*heed::text::read_tokenizer(files_of(static_cast<char>(data[0]), content), "input"), content.substr(0, 500));
  } catch (const heed::FileError& error) {
    check_message(error.what());
  }
  return 0;
}
