// A conversation with a language model: what was said, as the prompt that its next answer begins behind.
#pragma once

#include <memory>
#include <string>

#include "heed/tasks/generator.h"
#include "heed/text/chat_template.h"

namespace heed::tasks {

class Chat {
 public:
  // `system` is what the model is told before anything is said; "" for nothing.
  Chat(const GeneratorView& generator, std::shared_ptr<const text::ChatTemplate> chat, const std::string& system = "");

  // Answers end where the template says so, and what was read once stays known to the end of the conversation.
  void prepare(GenerateConfig& config) const;
  // What a person says. Beyond the context it is an error with both numbers, or, where the config has a window, the oldest
  // turns are forgotten until half of the context, or max_tokens of it, are free.
  Prompt ask(const std::string& said, const GenerateConfig& config);
  void answered(const std::string& text) { messages_.push_back({"assistant", text}); }

  const text::Conversation& messages() const { return messages_; }
  int64_t forgotten() const { return forgotten_; }  // messages

 private:
  bool forget_a_turn();

  const GeneratorView generator_;
  const std::shared_ptr<const text::ChatTemplate> chat_;
  text::Conversation messages_;
  int64_t forgotten_ = 0;
};

}  // namespace heed::tasks
