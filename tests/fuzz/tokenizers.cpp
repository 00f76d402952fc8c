// Throws bytes at the readers of tokenizer files: each takes them or refuses them with one clean line, and what is taken
// can cut and join any text. `make fuzz` runs it. The first byte says which file the rest is.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heed/base/error.h"
#include "heed/text/spm_file.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/unicode.h"
#include "support/tokenizer_use.h"

namespace {

using heed::text::NamedFiles;
using heed::text::Vocabulary;

// With a vocabulary of its own pieces, so that nothing but the model can be at fault.
void check_model(const std::string& bytes) {
  std::vector<std::string> pieces = {"</s>", "<unk>", "<pad>"};
  for (const heed::text::SpmPiece& piece : heed::text::read_spm(bytes, "input").pieces) {
    if (std::find(pieces.begin(), pieces.begin() + 3, piece.text) == pieces.begin() + 3)
      pieces.emplace_back(piece.text);
  }
  const auto vocabulary = std::make_shared<const Vocabulary>(Vocabulary(std::move(pieces)));
  use(*heed::text::marian_tokenizer(bytes, vocabulary, "input"), bytes.substr(0, 500));
}

void check_vocabulary(const std::string& json) {
  const Vocabulary vocabulary = Vocabulary::parse(json, "input");
  const Vocabulary again = Vocabulary::parse(vocabulary.json(), "again");
  require(again.size() == vocabulary.size());
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    require(again.piece(id) == vocabulary.piece(id));
    if (vocabulary.is_special(id) || vocabulary.piece(id).empty()) continue;
    require(vocabulary.id(vocabulary.piece(id)) == id);
  }
}

void check_folder(const NamedFiles& files, const std::string& noise) {
  const heed::text::TokenizerPair pair = heed::text::read_tokenizers(files, "input");
  use(*pair.source, noise);
  use(*pair.target, noise);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 's') check_model(content);
    if (data[0] == 'v') check_vocabulary(content);
    if (data[0] == 'b') check_folder({{"byte_tokenizer.json", content}}, content);
    if (data[0] == 'c') static_cast<void>(heed::text::separate_vocabularies(content, "input"));
  } catch (const heed::FileError& error) {
    check_message(error.what());
  }
  return 0;
}
