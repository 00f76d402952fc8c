// Conversations as lines of JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "heed/data/parallel_corpus.h"
#include "heed/text/chat_template.h"

namespace heed::data {

// One of
//   {"messages": [{"role": "system" | "user" | "assistant", "content": "..."}, ...]}
//   {"prompt": "...", "completion": "..."}
//   {"instruction": "...", "input": "...", "output": "..."}    "input" may be missing or empty
// with an answer in it. Other keys are not read.
struct ChatLine {
  text::Conversation messages;
  std::string problem, detail;  // why there are none: "an unknown role", "'tool'"
};
ChatLine read_chat_line(std::string_view line);

// What was wrong with lines, by kind. With kRefuse the first of them is an error that names its place.
class BadChatLines {
 public:
  explicit BadChatLines(BadLines how) : how_(how) {}
  void add(const std::string& place, const std::string& problem, const std::string& detail);
  int64_t count() const;
  std::string text()
      const;  // "2 no JSON (a.jsonl:3, a.jsonl:8), 1 an unknown role (a.jsonl:5)"; "" where all were right

 private:
  BadLines how_;
  std::map<std::string, BadLineCount> kinds_;
};

}  // namespace heed::data
