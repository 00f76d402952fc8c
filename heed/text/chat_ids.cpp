#include "heed/text/chat_ids.h"

#include <algorithm>

#include "heed/base/error.h"

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

// Where each id ends in its text, by what the ids stand for; nothing where they do not spell it: it was normalised, or has
// characters that are unknown.
std::vector<size_t> ends_in(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text) {
  std::vector<size_t> ends;
  size_t at = 0;
  for (const int32_t id : ids) {
    const std::string bytes = tokenizer.bytes(id), own = bytes.empty() ? tokenizer.piece(id) : bytes;
    const std::string_view rest = text.substr(at), word = std::string_view(own).substr(own.starts_with(' '));
    if (!rest.starts_with(own) && !(word.size() < own.size() && rest.starts_with(word))) return {};
    at += rest.starts_with(own) ? own.size() : word.size();  // a blank may be the ids' alone
    ends.push_back(at);
  }
  return at == text.size() ? ends : std::vector<size_t>();
}

// Which ids of a text are those of its parts.
class IdsOfParts {
 public:
  IdsOfParts(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text)
      : tokenizer_(tokenizer), ids_(ids), text_(text), ends_(ends_in(tokenizer, ids, text)) {}

  std::pair<size_t, size_t> of(const ChatTemplate::Part& part) {
    if (ends_.empty()) return {before(part.begin, false), before(part.end, true)};
    auto begin = std::upper_bound(ends_.begin(), ends_.end(), part.begin);
    // A blank that only the ids have goes with the word behind it.
    while (begin != ends_.begin() && begin[-1] == (begin - 1 == ends_.begin() ? 0 : begin[-2])) --begin;
    const auto end = std::lower_bound(ends_.begin(), ends_.end(), part.end);
    return {static_cast<size_t>(begin - ends_.begin()),
            std::min(ids_.size(), static_cast<size_t>(end - ends_.begin()) + 1)};
  }

 private:
  // By the ids of the text up to there: slow, and so it has a bound.
  size_t before(size_t border, bool shared) {
    constexpr size_t kMost = 32 << 20;
    read_ += border;
    if (read_ > kMost) {
      fail_file(
          "[chat] {} bytes that the tokenizer rewrites: to find the answers {} are read again, expected at most {}",
          text_.size(), read_, kMost);
    }
    return ids_before(tokenizer_, ids_, text_.substr(0, border), shared);
  }

  const Tokenizer& tokenizer_;
  const std::vector<int32_t>& ids_;
  const std::string_view text_;
  const std::vector<size_t> ends_;
  size_t read_ = 0;
};

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
  IdsOfParts parts(tokenizer, made.ids, whole);
  for (const ChatTemplate::Part& part : chat.answers(conversation, whole)) {
    const auto [begin, end] = parts.of(part);
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
