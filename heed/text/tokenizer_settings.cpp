#include "heed/text/tokenizer_settings.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

using nlohmann::json;

// "<s>", or since 2023 {"content": "<s>", ...}.
std::string content_of(const json& token) {
  if (token.is_string()) return token.get<std::string>();
  const auto found = token.is_object() ? token.find("content") : token.end();
  return token.is_object() && found != token.end() && found->is_string() ? found->get<std::string>() : "";
}

class SettingsReader {
 public:
  explicit SettingsReader(const std::string& folder) : folder_(folder) {}

  void read_config(const json& config, const std::string& label) {
    if (const auto type = config.find("tokenizer_class"); type != config.end() && type->is_string())
      settings_.type = type->get<std::string>();
    settings_.add_bos = flag(config, "add_bos_token", label);
    settings_.legacy = flag(config, "legacy", label);
    if (flag(config, "add_eos_token", label) == true)
      fail_file("[tokenizer] {}: 'add_eos_token' is true, which heed does not do", label);
    read_names(config);
    if (const auto added = config.find("added_tokens_decoder"); added != config.end() && added->is_object()) {
      for (const auto& [id, token] : added->items()) add(token, id, label);
    }
  }

  void read_names(const json& names) {
    take(names, "bos_token", settings_.bos), take(names, "eos_token", settings_.eos);
    take(names, "unk_token", settings_.unk), take(names, "pad_token", settings_.pad);
  }

  // {"<pad>": 32000}
  void read_added(const json& added, const std::string& label) {
    for (const auto& [text, id] : added.items()) {
      settings_.added.push_back(read_added_token({{"content", text}}, id, label));
    }
  }

  json parse(const std::string& content, const std::string& name) const {
    constexpr size_t kMaxBytes = size_t{16} << 20;
    json found = content.size() > kMaxBytes ? json(json::value_t::discarded) : parse_bounded(content);
    if (!found.is_object()) fail_file("[tokenizer] {}/{}: not a JSON object", folder_, name);
    return found;
  }

  TokenizerSettings take_settings() && { return std::move(settings_); }

 private:
  static std::optional<bool> flag(const json& config, const char* key, const std::string& label) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return std::nullopt;
    if (!found->is_boolean()) fail_file("[tokenizer] {}: '{}' is no boolean, expected true or false", label, key);
    return found->get<bool>();
  }
  static void take(const json& names, const char* key, std::string& to) {
    if (to.empty() && names.contains(key)) to = content_of(names[key]);
  }
  void add(const json& token, const std::string& id, const std::string& label) {
    int32_t number = -1;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
    if (error != std::errc() || end != id.data() + id.size() || number < 0)
      fail_file("[tokenizer] {}: added_tokens_decoder has {}, expected an id and its token", label, in_quotes(id));
    settings_.added.push_back(read_added_token(token, static_cast<uint32_t>(number), label));
  }

  const std::string& folder_;
  TokenizerSettings settings_;
};

}  // namespace

SpecialIds TokenizerSettings::special(const std::function<int32_t(const std::string&)>& id_of) const {
  const auto id = [&](const std::string& name) { return name.empty() ? -1 : id_of(name); };
  return {id(eos), id(unk), id(pad), -1};
}

TokenizerSettings read_settings(const NamedFiles& files, const std::string& folder) {
  SettingsReader reader(folder);
  if (const std::string* content = find_file(files, "tokenizer_config.json"))
    reader.read_config(reader.parse(*content, "tokenizer_config.json"), folder + "/tokenizer_config.json");
  if (const std::string* content = find_file(files, "special_tokens_map.json"))
    reader.read_names(reader.parse(*content, "special_tokens_map.json"));
  if (const std::string* content = find_file(files, "added_tokens.json"))
    reader.read_added(reader.parse(*content, "added_tokens.json"), folder + "/added_tokens.json");
  return std::move(reader).take_settings();
}

AddedToken read_added_token(const json& token, const json& id, const std::string& label) {
  constexpr uint64_t kMost = uint64_t{1} << 28;
  const auto flag = [&](const char* key) { return token.contains(key) && token[key] == true; };
  if (!token.is_object() || !token.contains("content") || !token["content"].is_string() || !id.is_number_unsigned() ||
      id.get<uint64_t>() > kMost) {
    fail_file("[tokenizer] {}: an added token without content or id", label);
  }
  AddedToken added{token["content"].get<std::string>(), id.get<int32_t>(), flag("special")};
  for (const char* key : {"lstrip", "rstrip", "single_word"}) {
    if (flag(key))
      fail_file("[tokenizer] {}: added token {} has {}, which heed does not do", label, in_quotes(added.text), key);
  }
  return added;
}

}  // namespace heed::text
