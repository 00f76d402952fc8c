// Conversations, and the text that a model reads of one: its chat template.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heed/text/template.h"
#include "heed/text/tokenizer_files.h"

namespace heed::text {

struct Message {
  std::string role, content;
};
using Conversation = std::vector<Message>;

class ChatTemplate {
 public:
  // `names` are those of special tokens that the template may ask for: bos_token, eos_token, ...
  ChatTemplate(const std::string& source, ValueDict names, const std::string& label);

  // With `asks`, the text goes on to where an answer begins. A conversation that the template refuses is an error.
  std::string render(std::span<const Message> messages, bool asks) const;
  // What stands behind every answer: "<|im_end|>"; "" where nothing does. Blanks at its end are no part of it, but for one
  // that is nothing else.
  const std::string& end_mark() const { return end_mark_; }

  // Where the answers stand in the text of a whole conversation, each with its end mark. One that stands elsewhere, or
  // behind something else, once the conversation goes on, is not among them: nobody will ever be asked for it so.
  struct Part {
    size_t begin, end;
  };
  std::vector<Part> answers(std::span<const Message> messages, const std::string& whole) const;
  // The same from a budget that all of its renderings share. More turns than kMostRendered allows are an error before the
  // first: each answer takes two renderings of what comes before it.
  std::vector<Part> answers(std::span<const Message> messages, const std::string& whole, Template::Limits& left) const;
  static constexpr int64_t kMostRendered = 1'000'000;  // messages, each as often as it is

 private:
  std::string render(std::span<const Message> messages, bool asks, Template::Limits& left) const;
  Template template_;
  ValueDict names_;
  std::string end_mark_;
};

// Of a model directory: chat_template.jinja, or what tokenizer_config.json says; null where there is none.
std::shared_ptr<const ChatTemplate> load_chat_template(const std::string& folder);
std::shared_ptr<const ChatTemplate> read_chat_template(const NamedFiles& files, const std::string& folder);

// Marks that a new tokenizer has as one id each.
constexpr const char *kMessageBegin = "<|im_start|>", *kMessageEnd = "<|im_end|>";
// ChatML. Where answers end with the token that ends texts, its name stands for it; else the mark above.
std::string default_chat_template(bool ends_with_eos);
// The default put among the files of a tokenizer that has no template; with eos_token where that has a name.
void add_default_chat_template(NamedFiles& files, const std::string& folder, bool has_marks);

}  // namespace heed::text
