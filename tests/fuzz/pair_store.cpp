// Throws bytes at the reader of tokenised corpora: it must refuse them with one line, or every sentence must lie inside.
#include "heed/data/pair_store.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "heed/base/error.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A mapped file begins at a page; the copy has just the input's size, for the address sanitizer to watch.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  try {
    const auto store = heed::data::PairStore::parse(bytes, "input");
    int64_t source = 0, target = 0;
    for (int64_t i = 0; i < store.size(); ++i) {
      require(store.source_length(i) > 0 && store.target_length(i) > 0);
      source += store.source_length(i);
      target += store.target_length(i);
    }
    require(source == store.source_tokens() && target == store.target_tokens());
    static_cast<void>(store.intact());
  } catch (const heed::FileError& error) {
    const std::string message = error.what();
    require(message.starts_with("[store] 'input' ") && message.find('\n') == std::string::npos);
  }
  return 0;
}
