#include "heed/text/chat_ids.h"

#include <algorithm>

namespace heed::text {
namespace {

// How many of the ids of a text are those of its start. An id that both sides of the border share is counted as `shared`
// says: a blank and the word behind it may be one.
size_t ids_before(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view start, bool shared) {
  const std::vector<int32_t> own = tokenizer.encode(start);
  const auto same = std::mismatch(own.begin(), own.end(), ids.begin(), ids.end()).first - own.begin();
  const auto count = static_cast<size_t>(same);
  return std::min(ids.size(), count + (shared && count < own.size()));
}

}  // namespace

int32_t chat_start(const Tokenizer& tokenizer, const ChatTemplate& chat) {
  const auto first = [&](const Conversation& conversation) -> int32_t {
    try {
      const std::vector<int32_t> ids = tokenizer.encode(chat.render(conversation, true));
      return ids.empty() ? -1 : ids[0];
    } catch (const std::exception&) {
      return -2;  // a template that takes no system's message, say
    }
  };
  const int32_t start = first({{"user", "a question"}}), other = first({{"user", "Warum? 왜?"}}),
                system = first({{"system", "be kind"}, {"user", "a question"}});
  return start == other && (start == system || system == -2) ? std::max(start, -1) : -1;
}

ChatEnd chat_end(const Tokenizer& tokenizer, const ChatTemplate& chat) {
  const std::string& mark = chat.end_mark();
  if (mark.empty()) return {};
  const std::vector<int32_t> ids = tokenizer.encode(mark);
  // Blanks before it may be ids of their own.
  const auto special = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer.bytes(id).empty(); });
  return special == ids.end() ? ChatEnd{-1, mark} : ChatEnd{*special};
}

ChatIds chat_ids(const Tokenizer& tokenizer, const ChatTemplate& chat, const Conversation& conversation) {
  const std::string whole = chat.render(conversation, false);
  ChatIds made;
  made.ids = tokenizer.encode(whole);
  made.answers.resize(made.ids.size());
  for (const ChatTemplate::Part& part : chat.answers(conversation, whole)) {
    const std::string_view text = whole;
    const size_t begin = ids_before(tokenizer, made.ids, text.substr(0, part.begin), false),
                 end = ids_before(tokenizer, made.ids, text.substr(0, part.end), true);
    for (size_t i = begin; i < end; ++i) made.answers[i] = true;
    made.answer_bytes += static_cast<int64_t>(part.end - part.begin);
  }
  const int32_t eos = tokenizer.special().eos;
  if (chat.end_mark().empty() && eos >= 0 && !conversation.empty() && conversation.back().role == "assistant") {
    made.ids.push_back(eos);
    made.answers.push_back(true);
  }
  return made;
}

}  // namespace heed::text
