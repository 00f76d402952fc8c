#include "heed/data/chat_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::data {
namespace {

using nlohmann::json;

ChatLine bad(std::string problem, std::string detail) { return {{}, std::move(problem), std::move(detail)}; }

ChatLine read_messages(const json& list) {
  if (!list.is_array() || list.empty()) return bad("without messages", "'messages' is no list of them");
  ChatLine line;
  for (const json& message : list) {
    const auto text = [&](const char* key) {
      const auto found = message.is_object() ? message.find(key) : message.end();
      return message.is_object() && found != message.end() && found->is_string() ? found->get_ptr<const std::string*>()
                                                                                 : nullptr;
    };
    const std::string *role = text("role"), *content = text("content");
    const std::string number = "message " + std::to_string(line.messages.size() + 1);
    if (!role || !content) return bad("a message without role or content", number);
    if (*role != "system" && *role != "user" && *role != "assistant")
      return bad("an unknown role", number + " has " + in_quotes(*role));
    line.messages.push_back({*role, *content});
  }
  return line;
}

// A question and its answer, under the names that a kind of file has for them.
ChatLine read_pair(const json& object, const char* question, const char* more, const char* answer) {
  const auto text = [&](const char* key) -> std::string {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  for (const char* key : {question, answer}) {
    if (!object.contains(key) || !object[key].is_string())
      return bad("without messages", fmt::format("'{}' is no text", key));
  }
  const std::string given = more ? text(more) : "";
  return {{{"user", text(question) + (given.empty() ? "" : "\n\n" + given)}, {"assistant", text(answer)}}, {}, {}};
}

}  // namespace

ChatLine read_chat_line(std::string_view line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::parse_error& error) {
    return bad("no JSON", fmt::format("wrong at byte {}", error.byte));
  } catch (const json::out_of_range&) {
    return bad("no JSON", "a number beyond what a double holds");
  }
  if (!object.is_object()) return bad("no JSON object", fmt::format("found {}", object.type_name()));
  ChatLine read = object.contains("messages") ? read_messages(object["messages"])
                  : object.contains("prompt") ? read_pair(object, "prompt", nullptr, "completion")
                  : object.contains("instruction")
                      ? read_pair(object, "instruction", "input", "output")
                      : bad("without messages", "found none of 'messages', 'prompt', 'instruction'");
  const auto answers = [](const text::Message& m) { return m.role == "assistant"; };
  if (read.problem.empty() && std::none_of(read.messages.begin(), read.messages.end(), answers))
    return bad("without an answer", "no message of the assistant");
  return read;
}

void BadChatLines::add(const std::string& place, const std::string& problem, const std::string& detail) {
  if (how_ == BadLines::kRefuse) fail_file("[corpus] {}: {}: {}", place, problem, detail);
  count_bad_line(kinds_[problem], place);
}

int64_t BadChatLines::count() const {
  int64_t all = 0;
  for (const auto& [problem, lines] : kinds_) all += lines.count;
  return all;
}

std::string BadChatLines::text() const {
  std::string all;
  for (const auto& [problem, lines] : kinds_) all += (all.empty() ? "" : ", ") + describe(lines, problem);
  return all;
}

}  // namespace heed::data
