#include "heed/text/chat_template.h"

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"
#include "heed/text/tokenizer_settings.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using nlohmann::ordered_json;

constexpr const char *kTemplateFile = "chat_template.jinja", *kSettingsFile = "tokenizer_config.json";

ordered_json settings_json(const NamedFiles& files, const std::string& folder) {
  const std::string* content = find_file(files, kSettingsFile);
  if (!content) return ordered_json::object();
  ordered_json settings = parse_bounded<ordered_json>(*content);
  if (!settings.is_object()) fail_file("[tokenizer] {}/{}: not a JSON object", folder, kSettingsFile);
  return settings;
}

// One text, or several with names, of which "default" is meant.
std::string template_of(const ordered_json& settings, const std::string& label) {
  const auto found = settings.find("chat_template");
  if (found == settings.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  const auto is_text = [](const ordered_json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
  };
  for (const ordered_json& one : found->is_array() ? *found : ordered_json::array()) {
    if (is_text(one, "name") && is_text(one, "template") && one["name"] == "default") return one["template"];
  }
  fail_file("[tokenizer] {}: 'chat_template' is neither a text nor a list with one that is named 'default'", label);
}

// As much as honest templates need for so many messages, many times over.
Template::Limits limits_of(std::span<const Message> messages) {
  constexpr int64_t kEach = 16 << 10, kTimes = 32;
  Template::Limits limits;
  for (const Message& message : messages) {
    const auto bytes = static_cast<int64_t>(message.role.size() + message.content.size());
    limits.steps += kEach + bytes / kTimes;
    limits.bytes += kEach + kTimes * bytes;
  }
  return limits;
}

void check_turns(std::span<const Message> messages) {
  int64_t answers = 0, rendered = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    ++answers, rendered += 2 * static_cast<int64_t>(i) + 1;
  }
  if (rendered <= ChatTemplate::kMostRendered) return;
  fail_file("[chat] {} answers in {} messages: to find them {} messages are rendered, expected at most {}", answers,
            messages.size(), rendered, ChatTemplate::kMostRendered);
}

}  // namespace

ChatTemplate::ChatTemplate(const std::string& source, ValueDict names, const std::string& label)
    : template_(source, label), names_(std::move(names)) {
  constexpr std::string_view kAnswer = "an-answer-that-nobody-gives";
  const Conversation probe = {{"user", "a question"}, {"assistant", std::string(kAnswer)}};
  try {
    const std::string text = render(probe, false);
    const size_t at = text.rfind(kAnswer);
    if (at == text.npos) return;
    end_mark_ = text.substr(at + kAnswer.size());
    if (const std::string_view mark = trim_end(end_mark_); !mark.empty()) end_mark_.resize(mark.size());
  } catch (const FileError&) {
    // What it refuses is told where someone asks for it.
  }
}

std::string ChatTemplate::render(std::span<const Message> messages, bool asks) const {
  Template::Limits limits = limits_of(messages);
  return render(messages, asks, limits);
}

std::string ChatTemplate::render(std::span<const Message> messages, bool asks, Template::Limits& left) const {
  ValueList list;
  for (const Message& message : messages) {
    list.push_back({std::make_shared<const Value::Dict>(
        Value::Dict{{{"role", Value::text(message.role)}, {"content", Value::text(message.content)}}})});
  }
  ValueDict variables = names_;
  variables.emplace_back("messages", Value{std::make_shared<const Value::List>(Value::List{std::move(list), 2})});
  variables.emplace_back("add_generation_prompt", Value{asks});
  for (const char* name : {"tools", "documents"}) variables.emplace_back(name, Value::none());
  return template_.render(variables, left);
}

std::vector<ChatTemplate::Part> ChatTemplate::answers(std::span<const Message> messages,
                                                      const std::string& whole) const {
  // A few seconds of honest templates, and of those that are not.
  Template::Limits left{.steps = 100'000'000, .bytes = int64_t{4} << 30};
  return answers(messages, whole, left);
}

std::vector<ChatTemplate::Part> ChatTemplate::answers(std::span<const Message> messages, const std::string& whole,
                                                      Template::Limits& left) const {
  check_turns(messages);
  const auto rendered = [&](size_t count, bool asks) {
    const Template::Limits own = limits_of(messages.first(count));
    const Template::Limits most{std::min(own.steps, left.steps), std::min(own.bytes, left.bytes)};
    Template::Limits rest = most;
    std::string text = render(messages.first(count), asks, rest);
    left.steps -= most.steps - rest.steps, left.bytes -= most.bytes - rest.bytes;
    return text;
  };
  std::vector<Part> parts;
  const bool blank_mark = is_blank(end_mark_);
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    const std::string before = rendered(i, true), with = rendered(i + 1, false);
    if (!with.starts_with(before) || !whole.starts_with(with)) continue;
    const size_t end = blank_mark ? with.size() : trim_end(with).size();
    if (end > before.size()) parts.push_back({before.size(), end});
  }
  return parts;
}

std::shared_ptr<const ChatTemplate> read_chat_template(const NamedFiles& files, const std::string& folder) {
  const std::string* own = find_file(files, kTemplateFile);
  const std::string label = printable(folder) + "/" + (own ? kTemplateFile : kSettingsFile);
  const std::string source = own ? *own : template_of(settings_json(files, folder), label);
  if (source.empty()) return nullptr;
  const TokenizerSettings settings = read_settings(files, folder);
  ValueDict names;
  const std::pair<const char*, const std::string&> known[] = {{"bos_token", settings.bos},
                                                              {"eos_token", settings.eos},
                                                              {"unk_token", settings.unk},
                                                              {"pad_token", settings.pad}};
  for (const auto& [name, text] : known) {
    if (!text.empty()) names.emplace_back(name, Value::text(text));
  }
  return std::make_shared<const ChatTemplate>(source, std::move(names), own ? label : label + " (chat_template)");
}

std::shared_ptr<const ChatTemplate> load_chat_template(const std::string& folder) {
  return read_chat_template(single_tokenizer_files(folder), folder);
}

std::string default_chat_template(bool ends_with_eos) {
  return fmt::format(
      "{{% for message in messages %}}"
      "{{{{ '{}' + message['role'] + '\\n' + message['content'] + {} + '\\n' }}}}"
      "{{% endfor %}}"
      "{{% if add_generation_prompt %}}{{{{ '{}assistant\\n' }}}}{{% endif %}}",
      kMessageBegin, ends_with_eos ? "eos_token" : fmt::format("'{}'", kMessageEnd), kMessageBegin);
}

void add_default_chat_template(NamedFiles& files, const std::string& folder, bool has_marks) {
  ordered_json settings = settings_json(files, folder);
  settings["chat_template"] = default_chat_template(!has_marks && !read_settings(files, folder).eos.empty());
  std::erase_if(files, [](const auto& file) { return file.first == kSettingsFile; });
  files.emplace_back(kSettingsFile, settings.dump(2) + "\n");
}

}  // namespace heed::text
