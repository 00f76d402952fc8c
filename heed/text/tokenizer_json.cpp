#include "heed/text/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::text {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxGaps = 100'000;  // ids that no piece has

std::string type_of(const json& part) {
  if (part.is_null()) return "";
  return part.is_object() && part.contains("type") && part["type"].is_string() ? part["type"].get<std::string>() : "?";
}

bool is_true(const json& object, const char* key) { return object.contains(key) && object[key] == true; }

class Reader {
 public:
  Reader(const json& file, const std::string& label) : file_(file), label_(label) {}

  BpeParts read() {
    read_model();
    read_cutting();
    read_added();
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail_file("[tokenizer] {}: {}", label_, what); }
  const json& part(const char* name) const {
    static const json none;
    return file_.contains(name) ? file_[name] : none;
  }

  void read_model() {
    const json& model = part("model");
    if (!model.is_object()) refuse("lacks 'model'");
    if (type_of(model) != "BPE" && model.contains("type"))
      refuse(fmt::format("model {}: heed knows BPE", in_quotes(type_of(model))));
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      if (model.contains(key) && !model[key].is_null() && model[key] != "" && model[key] != 0) {
        refuse(fmt::format("model.{} is set, which heed does not do", key));
      }
    }
    if (is_true(model, "ignore_merges")) refuse("model.ignore_merges is set, which heed does not do");
    parts_.alphabet = is_true(model, "byte_fallback") ? BpeParts::Alphabet::kCharacters : BpeParts::Alphabet::kBytes;
    read_pieces(model);
    read_merges(model);
  }

  void read_pieces(const json& model) {
    if (!model.contains("vocab") || !model["vocab"].is_object()) refuse("model.vocab is no object");
    const json& vocabulary = model["vocab"];
    for (const auto& [piece, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= vocabulary.size() + kMaxGaps) {
        refuse(fmt::format("the id of {} is {}", in_quotes(piece), printable(id.dump(), 40)));
      }
      const auto at = id.get<size_t>();
      if (at >= parts_.pieces.size()) parts_.pieces.resize(at + 1);
      if (!parts_.pieces[at].empty()) refuse(fmt::format("id {} stands for two pieces", at));
      parts_.pieces[at] = piece;
    }
  }

  void read_merges(const json& model) {
    if (!model.contains("merges") || !model["merges"].is_array()) refuse("model.merges is no list");
    for (const json& merge : model["merges"]) {
      // "a b", or since 2024 ["a", "b"].
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        parts_.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
        continue;
      }
      const std::string text = merge.is_string() ? merge.get<std::string>() : "";
      const size_t blank = text.find(' ');
      if (blank == std::string::npos) refuse(fmt::format("merge {} is no pair", parts_.merges.size()));
      parts_.merges.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    }
  }

  void read_cutting() {
    const bool bytes = parts_.alphabet == BpeParts::Alphabet::kBytes;
    bytes ? read_byte_level(part("pre_tokenizer")) : read_characters();
  }

  void read_byte_level(const json& words) {
    if (!part("normalizer").is_null())
      refuse(fmt::format("normalizer {}: expected none", in_quotes(type_of(part("normalizer")))));
    if (type_of(words) != "ByteLevel")
      refuse(fmt::format("pre_tokenizer {}: expected ByteLevel", in_quotes(type_of(words))));
    if (words.contains("use_regex") && words["use_regex"] == false)
      refuse("pre_tokenizer.use_regex is false, which heed does not do");
    parts_.blank_before_text = is_true(words, "add_prefix_space");
  }

  // LLaMA's: "▁" before the text and for every blank, by two normalizers or by Metaspace.
  void read_characters() {
    const json& words = part("pre_tokenizer");
    if (type_of(words) == "Metaspace") {
      if (!part("normalizer").is_null()) refuse("a normalizer beside Metaspace, which heed does not do");
      const std::string scheme = words.value("prepend_scheme", "always");
      if (is_true(words, "split") || (scheme != "first" && scheme != "always" && scheme != "never")) {
        refuse("pre_tokenizer: Metaspace with split, or an unknown prepend_scheme");
      }
      parts_.blank_before_text = scheme != "never";
      return;
    }
    if (!words.is_null())
      refuse(fmt::format("pre_tokenizer {}: expected none or Metaspace", in_quotes(type_of(words))));
    const json expected = {{"type", "Sequence"},
                           {"normalizers",
                            {{{"type", "Prepend"}, {"prepend", "▁"}},
                             {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}};
    if (part("normalizer") != expected) refuse("a normalizer other than LLaMA's, which heed does not do");
    parts_.blank_before_text = true;
  }

  void read_added() {
    const json& added = part("added_tokens");
    if (added.is_null()) return;
    if (!added.is_array()) refuse("added_tokens is no list");
    for (const json& token : added) {
      if (!token.is_object() || !token.contains("content") || !token["content"].is_string() || !token.contains("id") ||
          !token["id"].is_number_unsigned() || token["id"].get<uint64_t>() > parts_.pieces.size() + kMaxGaps) {
        refuse("an added token without content or id");
      }
      const auto text = token["content"].get<std::string>();
      for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
        if (is_true(token, flag))
          refuse(fmt::format("added token {} has {}, which heed does not do", in_quotes(text), flag));
      }
      parts_.added.push_back({text, token["id"].get<int32_t>(), is_true(token, "special")});
    }
  }

  const json& file_;
  const std::string& label_;
  BpeParts parts_;
};

}  // namespace

BpeParts parse_tokenizer_json(const std::string& text, const std::string& label) {
  const json file = json::parse(text, nullptr, false);
  if (!file.is_object()) fail_file("[tokenizer] {}: not a JSON object", label);
  return Reader(file, label).read();
}

BpeParts parse_gpt2_files(const std::string& vocab_json, const std::string& merges, const std::string& label) {
  // The same parts as a tokenizer.json would hold them.
  json list = json::array();
  for (size_t begin = 0; begin < merges.size();) {
    const size_t end = std::min(merges.find('\n', begin), merges.size());
    std::string line = merges.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !(begin == 0 && line.starts_with("#version"))) list.push_back(line);
    begin = end + 1;
  }
  json vocabulary = json::parse(vocab_json, nullptr, false);
  const json file = {{"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(list)}}},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
  return Reader(file, label).read();
}

}  // namespace heed::text
