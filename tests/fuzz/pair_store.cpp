// Throws bytes at the readers of tokenised corpora: they must refuse them with one line, or every sequence must lie inside.
#include "heed/data/pair_store.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "heed/base/error.h"
#include "heed/data/text_store.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_pairs(const std::vector<std::byte>& bytes) {
  const auto store = heed::data::PairStore::parse(bytes, "input");
  int64_t source = 0, target = 0;
  for (int64_t i = 0; i < store.size(); ++i) {
    require(store.source_length(i) > 0 && store.target_length(i) > 0);
    source += store.source_length(i);
    target += store.target_length(i);
  }
  require(source == store.source_tokens() && target == store.target_tokens());
  static_cast<void>(store.intact());
}

void check_text(const std::vector<std::byte>& bytes) {
  const auto store = heed::data::TextStore::parse(bytes, "input");
  require(static_cast<int64_t>(store.borders().size()) == store.documents() + 1);
  require(store.borders().front() == 0 && static_cast<int64_t>(store.borders().back()) == store.tokens());
  require(static_cast<int64_t>(store.ids().size()) == store.tokens());
  for (size_t i = 0; i + 1 < store.borders().size(); ++i) require(store.borders()[i] < store.borders()[i + 1]);
  static_cast<void>(store.intact());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A mapped file begins at a page; the copy has just the input's size, for the address sanitizer to watch.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  for (const auto& check : {check_pairs, check_text}) {
    try {
      check(bytes);
    } catch (const heed::FileError& error) {
      const std::string message = error.what();
      require(message.starts_with("[store] 'input' ") && message.find('\n') == std::string::npos);
    }
  }
  return 0;
}
