#include "heed/text/text_start.h"

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/text/char_tokenizer.h"

namespace heed::text {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kSettingsFile = "tokenizer_config.json";

// Of its own kinds heed alone reads the files: they say it themselves.
bool is_own(const std::string& name) { return name == kByteFile || name == kCharFile; }

json special_token(const std::string& name, int sequence) {
  return {{"SpecialToken", {{"id", name}, {"type_id", sequence}}}};
}
json text(const char* name, int sequence) { return {{"Sequence", {{"id", name}, {"type_id", sequence}}}}; }

json template_with(const std::string& name, int32_t id) {
  const json single = {special_token(name, 0), text("A", 0)};
  json pair = single;
  pair.push_back(special_token(name, 1)), pair.push_back(text("B", 1));
  const json tokens = {{name, {{"id", name}, {"ids", {id}}, {"tokens", {name}}}}};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

// Another template would be one that adds nothing.
void add_template(json& tokenizer, const std::string& name, int32_t id) {
  const json before = tokenizer.value("post_processor", json());
  json steps = json::array();
  for (const json& step : before.is_object() && before.contains("processors") ? before["processors"] : json{before}) {
    if (step.is_object() && step.value("type", "") != "TemplateProcessing") steps.push_back(step);
  }
  steps.push_back(template_with(name, id));
  tokenizer["post_processor"] = steps.size() == 1 ? steps[0] : json{{"type", "Sequence"}, {"processors", steps}};
}

void say_in_settings(NamedFiles& files, const std::string& name) {
  auto file = std::find_if(files.begin(), files.end(), [](const auto& f) { return f.first == kSettingsFile; });
  if (file == files.end()) file = files.insert(file, {kSettingsFile, "{}"});
  auto settings = parse_bounded<ordered_json>(file->second);
  settings["bos_token"] = name, settings["add_bos_token"] = true;
  file->second = settings.dump(2) + "\n";
}

}  // namespace

void begin_texts_with(NamedFiles& files, int32_t id, const std::string& folder) {
  const std::string name = read_tokenizer(files, folder)->piece(id);
  bool own = false;
  for (auto& [file, content] : files) {
    if (is_own(file)) {
      own = true;
      auto described = parse_bounded<ordered_json>(content);
      described["bos"] = id;
      content = described.dump(1) + "\n";
    } else if (file == "tokenizer.json") {
      auto described = parse_bounded(content);
      add_template(described, name, id);
      content = described.dump(1) + "\n";
    }
  }
  if (!own) say_in_settings(files, name);
  if (const int32_t bos = read_tokenizer(files, folder)->special().bos; bos != id)
    fail_file("[tokenizer] '{}': its texts begin with id {}, expected {}", folder, bos, id);
}

}  // namespace heed::text
