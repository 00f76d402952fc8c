// Published models and tokenizers for tests, which lie outside of the source.
#pragma once

#include <cstdlib>
#include <string>

namespace heed {

// The folder that `variable` names; else one of this name in the folder that HEED_SHARED names, or beside the source. It
// need not be there: a test without it has nothing to test.
inline std::string shared_folder(const char* variable, const std::string& name) {
  if (const char* named = std::getenv(variable)) return named;
  const char* shared = std::getenv("HEED_SHARED");
  return (shared ? std::string(shared) : std::string(HEED_SOURCE_DIR) + "/../shared") + "/" + name;
}

}  // namespace heed
