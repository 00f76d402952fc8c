// Conversations as ids, by a tokenizer and a chat template.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/text/chat_template.h"
#include "heed/text/tokenizer.h"

namespace heed::text {

// The id that every conversation begins with; -1 where they differ in that.
int32_t chat_start(const Tokenizer& tokenizer, const ChatTemplate& chat);

// How an answer ends: by an id that stands for no text, or by a text; by neither where the template writes nothing.
struct ChatEnd {
  int32_t id = -1;
  std::string text = {};
};
ChatEnd chat_end(const Tokenizer& tokenizer, const ChatTemplate& chat);

// A whole conversation. An answer that ends it, and that the template ends with nothing, ends with eos.
struct ChatIds {
  std::vector<int32_t> ids;
  std::vector<bool> answers;  // beside each id: whether an answer, or its end, has it
  int64_t answer_bytes = 0;
};
ChatIds chat_ids(const Tokenizer& tokenizer, const ChatTemplate& chat, const Conversation& conversation);

}  // namespace heed::text
