// The text of tokens as they come: never half a character, never a part of what ends it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::tasks {

class GrowingText {
 public:
  // Where a stop string comes, the text ends before it: of several the one that is whole first, however the tokens cut.
  explicit GrowingText(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

  // The text that is certain now; bytes of a character that is not whole and the start of a stop string are held back.
  std::string add(std::string_view bytes);
  // The rest: bytes that became no character are U+FFFD.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::string take(const std::string& text);

  std::vector<std::string> stops_;
  std::string bytes_;  // of a character that is not whole
  std::string held_;   // text that may be the start of a stop string
  bool stopped_ = false;
};

}  // namespace heed::tasks
