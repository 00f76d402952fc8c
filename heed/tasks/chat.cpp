#include "heed/tasks/chat.h"

#include <algorithm>

#include "heed/base/error.h"
#include "heed/text/chat_ids.h"

namespace heed::tasks {

Chat::Chat(const GeneratorView& generator, std::shared_ptr<const text::ChatTemplate> chat, const std::string& system)
    : generator_(generator), chat_(std::move(chat)) {
  if (!system.empty()) messages_.push_back({"system", system});
}

void Chat::prepare(GenerateConfig& config) const {
  const text::ChatEnd end = text::chat_end(*generator_.tokenizer, *chat_);
  if (end.id >= 0) config.ends.push_back(end.id);
  if (!end.text.empty()) config.stops.push_back(end.text);
}

// The oldest messages up to the second question; the system's stays.
bool Chat::forget_a_turn() {
  const auto asks = [](const text::Message& m) { return m.role == "user"; };
  const auto first = std::find_if(messages_.begin(), messages_.end(), asks);
  const auto second = first == messages_.end() ? first : std::find_if(first + 1, messages_.end(), asks);
  if (second == messages_.end()) return false;
  forgotten_ += second - first;
  messages_.erase(first, second);
  return true;
}

Prompt Chat::ask(const std::string& said, const GenerateConfig& config) {
  messages_.push_back({"user", said});
  const int64_t context = decode::context_length(generator_.model.config);
  const int64_t room = config.settings.window ? context - std::min(config.settings.max_tokens, context / 2) : context;
  while (true) {
    Prompt prompt{.text = chat_->render(messages_, true), .as_it_is = true};
    const auto tokens = static_cast<int64_t>(generator_.tokenizer->encode(prompt.text).size());
    if (tokens <= room || (config.settings.window && !forget_a_turn())) return prompt;
    if (!config.settings.window) {
      messages_.pop_back();  // whoever asks may go on with another question
      fail_file(
          "[chat] the conversation has {} tokens: the context of the model is {} (--window forgets the oldest turns)",
          tokens, context);
    }
  }
}

}  // namespace heed::tasks
