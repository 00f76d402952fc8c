#include "heed/text/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/bounded_json.h"
#include "heed/io/printable.h"
#include "heed/text/tokenizer_settings.h"

namespace heed::text {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxGaps = 100'000;  // ids that no piece has

// "?" for what is no text.
std::string text_at(const json& object, const char* key, const char* otherwise) {
  if (!object.contains(key) || object[key].is_null()) return otherwise;
  return object[key].is_string() ? object[key].get<std::string>() : "?";
}

std::string type_of(const json& part) {
  if (part.is_null()) return "";
  return part.is_object() ? text_at(part, "type", "?") : "?";
}

bool is_true(const json& object, const char* key) { return object.contains(key) && object[key] == true; }
bool is_false(const json& object, const char* key) { return object.contains(key) && object[key] == false; }

class Reader {
 public:
  Reader(const json& file, const std::string& label) : file_(file), label_(label) {}

  BpeParts read() {
    read_model();
    read_cutting();
    read_added();
    read_post_processor(part("post_processor"));
    read_decoder(part("decoder"));
    return std::move(parts_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail_file("[tokenizer] {}: {}", label_, what); }
  const json& part(const char* name) const {
    static const json none;
    return file_.contains(name) ? file_[name] : none;
  }
  // The parts of a Sequence, or the one that it is.
  std::vector<const json*> sequence(const json& whole, const char* list) const {
    if (type_of(whole) != "Sequence") return {&whole};
    std::vector<const json*> all;
    if (!whole.contains(list) || !whole[list].is_array()) refuse(fmt::format("a Sequence without '{}'", list));
    for (const json& one : whole[list]) all.push_back(&one);
    return all;
  }

  void read_model() {
    const json& model = part("model");
    if (!model.is_object()) refuse("lacks 'model'");
    if (type_of(model) != "BPE" && model.contains("type"))
      refuse(fmt::format("model {}: heed knows BPE", in_quotes(type_of(model))));
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      if (model.contains(key) && !model[key].is_null() && model[key] != json("") && model[key] != 0) {
        refuse(fmt::format("model.{} is set, which heed does not do", key));
      }
    }
    parts_.alphabet = is_true(model, "byte_fallback") ? BpeParts::Alphabet::kCharacters : BpeParts::Alphabet::kBytes;
    parts_.whole_words = is_true(model, "ignore_merges");
    if (parts_.whole_words && parts_.alphabet != BpeParts::Alphabet::kBytes)
      refuse("model.ignore_merges with byte_fallback, which heed does not do");
    read_pieces(model);
    read_merges(model);
  }

  void read_pieces(const json& model) {
    if (!model.contains("vocab") || !model["vocab"].is_object()) refuse("model.vocab is no object");
    const json& vocabulary = model["vocab"];
    for (const auto& [piece, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= vocabulary.size() + kMaxGaps) {
        const std::string found = id.is_structured() ? "a list or object" : printable(id.dump(), 40);
        refuse(fmt::format("the id of {} is {}", in_quotes(piece), found));
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
    bytes ? read_byte_level() : read_characters();
  }

  // A pattern for words where there is one, then ByteLevel.
  void read_byte_level() {
    const std::string normalizer = type_of(part("normalizer"));
    if (!normalizer.empty() && normalizer != "NFC")
      refuse(fmt::format("normalizer {}: expected none or NFC", in_quotes(normalizer)));
    parts_.compose = normalizer == "NFC";
    const std::vector<const json*> steps = sequence(part("pre_tokenizer"), "pretokenizers");
    const json& bytes = steps.empty() ? part("pre_tokenizer") : *steps.back();
    if (type_of(bytes) != "ByteLevel")
      refuse(fmt::format("pre_tokenizer {}: expected ByteLevel", in_quotes(type_of(bytes))));
    parts_.blank_before_text = is_true(bytes, "add_prefix_space");
    const bool by_gpt2 = !is_false(bytes, "use_regex");
    if (steps.size() == 1) {
      if (!by_gpt2) refuse("pre_tokenizer.use_regex is false, which heed does not do");
      return;
    }
    if (steps.size() > 2) refuse(fmt::format("pre_tokenizer of {} steps, expected 1 or 2", steps.size()));
    if (parts_.blank_before_text) refuse("pre_tokenizer.add_prefix_space behind another step, which heed does not do");
    by_gpt2 ? read_digits(*steps[0]) : read_split(*steps[0]);
  }

  void read_digits(const json& step) {
    if (type_of(step) != "Digits" || !is_true(step, "individual_digits"))
      refuse(fmt::format("pre_tokenizer {}: expected Digits, one by one", in_quotes(type_of(step))));
    parts_.words = WordRule::kSingleDigits;
  }

  void read_split(const json& step) {
    if (type_of(step) != "Split")
      refuse(fmt::format("pre_tokenizer {}: expected Split by a pattern", in_quotes(type_of(step))));
    const std::string behavior = text_at(step, "behavior", "");
    if (!(behavior == "Isolated" && !is_true(step, "invert")) && !(behavior == "Removed" && is_true(step, "invert")))
      refuse(fmt::format("pre_tokenizer Split with behavior {}: expected Isolated", in_quotes(behavior)));
    const std::string pattern = step.contains("pattern") ? text_at(step["pattern"], "Regex", "") : "";
    const std::optional<WordRule> rule = word_rule(pattern);
    if (!rule) refuse(fmt::format("pre_tokenizer Split by {}: heed does not know this pattern", in_quotes(pattern)));
    parts_.words = *rule;
  }

  // LLaMA's: "▁" before the text and for every blank, by two normalizers or by Metaspace.
  void read_characters() {
    const json& words = part("pre_tokenizer");
    if (type_of(words) == "Metaspace") return read_metaspace(words);
    if (!words.is_null())
      refuse(fmt::format("pre_tokenizer {}: expected none or Metaspace", in_quotes(type_of(words))));
    const json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    const json prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
    const json& normalizer = part("normalizer");
    parts_.unless_blank = false;
    parts_.blank_before_text = normalizer == json{{"type", "Sequence"}, {"normalizers", {prepend, replace}}};
    if (!parts_.blank_before_text && normalizer != replace)
      refuse("a normalizer other than LLaMA's, which heed does not do");
  }

  void read_metaspace(const json& words) {
    if (!part("normalizer").is_null()) refuse("a normalizer beside Metaspace, which heed does not do");
    const std::string scheme =
        text_at(words, "prepend_scheme", is_false(words, "add_prefix_space") ? "never" : "always");
    if (!is_false(words, "split") || text_at(words, "replacement", "▁") != "▁" ||
        (scheme != "first" && scheme != "always" && scheme != "never")) {
      refuse("pre_tokenizer: Metaspace with split, or an unknown prepend_scheme");
    }
    parts_.blank_before_text = scheme != "never";
    parts_.blank_after_added = scheme == "always";
  }

  // Without one, what goes with the pieces: that is what those who write none mean.
  void read_decoder(const json& whole) {
    if (whole.is_null()) return;
    const bool bytes = parts_.alphabet == BpeParts::Alphabet::kBytes;
    if (!bytes) parts_.decoding = {.bytes = false, .blanks = 0};
    bool blanks = false, fused = false;
    for (const json* step : sequence(whole, "decoders")) {
      const std::string type = type_of(*step);
      if (bytes ? type != "ByteLevel" : !read_character_decoder(*step, type, blanks, fused))
        refuse(fmt::format("decoder {}: expected {}", in_quotes(type), bytes ? "ByteLevel" : kCharacterDecoders));
    }
    if (!bytes && !blanks) refuse("decoder: nothing makes a blank of '▁', expected Replace or Metaspace");
  }

  static constexpr const char* kCharacterDecoders =
      "Replace of '▁' by a blank, ByteFallback, Fuse and Strip of blanks before the text, or Metaspace";

  // Pieces become text by steps; Strip is of the whole where Fuse came before it.
  bool read_character_decoder(const json& step, const std::string& type, bool& blanks, bool& fused) {
    if (type == "Fuse") return fused = true;
    if (type == "ByteFallback") return parts_.decoding.bytes = !fused;
    if (type == "Replace") {
      const bool known = step.contains("pattern") && step["pattern"] == json{{"String", "▁"}} &&
                         text_at(step, "content", "") == " " && !blanks;
      return blanks = known;
    }
    if (type == "Metaspace") {
      parts_.decoding.first_piece =
          text_at(step, "prepend_scheme", is_false(step, "add_prefix_space") ? "never" : "always") != "never";
      const bool known = text_at(step, "replacement", "▁") == "▁" && !blanks && !fused;
      return blanks = known;
    }
    const auto count = [&](const char* key) { return step.contains(key) ? step[key] : json(); };
    if (type != "Strip" || !fused || text_at(step, "content", "") != " " || count("stop") != 0) return false;
    if (!count("start").is_number_unsigned()) return false;
    parts_.decoding.blanks = *parts_.decoding.blanks + std::min<uint64_t>(count("start").get<uint64_t>(), 1 << 20);
    return true;
  }

  void read_added() {
    const json& added = part("added_tokens");
    if (added.is_null()) return;
    if (!added.is_array()) refuse("added_tokens is no list");
    static const json none;
    for (const json& token : added) {
      const bool has_id = token.is_object() && token.contains("id");
      parts_.added.push_back(read_added_token(token, has_id ? token["id"] : none, label_));
      const bool prepends = parts_.alphabet == BpeParts::Alphabet::kCharacters && part("pre_tokenizer").is_null();
      parts_.added.back().behind_blank = prepends && parts_.blank_before_text && is_true(token, "normalized");
    }
  }

  // Only a special token before the text is known; ByteLevel touches no ids.
  void read_post_processor(const json& whole) {
    for (const json* step : sequence(whole, "processors")) {
      const std::string type = type_of(*step);
      if (type.empty() || type == "ByteLevel") continue;
      if (type != "TemplateProcessing")
        refuse(fmt::format("post_processor {}: expected TemplateProcessing", in_quotes(type)));
      read_template(*step);
    }
  }

  void read_template(const json& step) {
    if (!step.contains("single") || !step["single"].is_array()) refuse("post_processor.single is no list");
    bool text_seen = false;
    for (const json& item : step["single"]) {
      if (item.is_object() && item.contains("Sequence") && !text_seen) {
        text_seen = true;
        continue;
      }
      const json& token = item.is_object() && item.contains("SpecialToken") ? item["SpecialToken"] : item;
      if (text_seen || parts_.special.bos >= 0)
        refuse("post_processor adds more than one token before the text, which heed does not do");
      parts_.special.bos = id_in_template(step, text_at(token, "id", ""));
    }
    if (!text_seen) refuse("post_processor.single holds no text");
  }

  int32_t id_in_template(const json& step, const std::string& name) const {
    static const json none;
    const json& tokens = step.contains("special_tokens") ? step["special_tokens"] : none;
    const json& token = tokens.contains(name) ? tokens[name] : none;
    const json& ids = token.contains("ids") ? token["ids"] : none;
    if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_unsigned() ||
        ids[0].get<uint64_t>() >= parts_.pieces.size() + kMaxGaps) {
      refuse(fmt::format("post_processor names no single id of {}", in_quotes(name)));
    }
    return ids[0].get<int32_t>();
  }

  const json& file_;
  const std::string& label_;
  BpeParts parts_;
};

int32_t id_of(const BpeParts& parts, const std::string& name) {
  for (const AddedToken& token : parts.added) {
    if (token.text == name) return token.id;
  }
  const auto found = std::find(parts.pieces.begin(), parts.pieces.end(), name);
  return found == parts.pieces.end() ? -1 : static_cast<int32_t>(found - parts.pieces.begin());
}

// Special ids by the names in the settings; where these are silent, by the names that the published models use.
void name_special(BpeParts& parts, const TokenizerSettings& settings) {
  const auto id = [&](const std::string& name) { return id_of(parts, name); };
  SpecialIds special = settings.special(id);
  special.bos = parts.special.bos;
  for (const char* name : {"<|endoftext|>", "</s>"}) {
    if (special.eos < 0 && settings.eos.empty()) special.eos = id(name);
  }
  parts.special = special;
}

}  // namespace

BpeParts parse_tokenizer_json(const std::string& text, const std::string& label) {
  const json file = parse_bounded(text);
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
  json vocabulary = parse_bounded(vocab_json);
  const json file = {{"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(list)}}},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
  return Reader(file, label).read();
}

std::shared_ptr<const Tokenizer> read_json_tokenizer(const NamedFiles& files, const std::string& folder) {
  const std::string label = folder + "/tokenizer.json";
  BpeParts parts = parse_tokenizer_json(*find_file(files, "tokenizer.json"), label);
  const TokenizerSettings settings = read_settings(files, folder);
  name_special(parts, settings);
  // LLaMA's class writes the template anew, by its own setting.
  if (settings.is_llama() && settings.add_bos) parts.special.bos = *settings.add_bos ? id_of(parts, settings.bos) : -1;
  return bpe_tokenizer(std::move(parts), label);
}

std::shared_ptr<const Tokenizer> read_gpt2_tokenizer(const NamedFiles& files, const std::string& folder) {
  const std::string* vocabulary = find_file(files, "vocab.json");
  if (vocabulary == nullptr) fail_file("[tokenizer] '{}' lacks vocab.json", folder);
  BpeParts parts = parse_gpt2_files(*vocabulary, *find_file(files, "merges.txt"), folder + "/vocab.json");
  TokenizerSettings settings = read_settings(files, folder);
  constexpr const char* kEnd = "<|endoftext|>";
  for (std::string* name : {&settings.bos, &settings.eos, &settings.unk}) {
    if (name->empty()) *name = kEnd;
  }
  parts.added = settings.added;
  name_special(parts, settings);
  const int32_t bos = id_of(parts, settings.bos);
  if (settings.add_bos.value_or(false)) parts.special.bos = bos;
  for (const int32_t id : {bos, parts.special.eos, parts.special.unk, parts.special.pad}) {
    const auto same = [id](const AddedToken& token) { return token.id == id; };
    if (id >= 0 && std::none_of(parts.added.begin(), parts.added.end(), same))
      parts.added.push_back({parts.pieces.at(static_cast<size_t>(id)), id, true});
  }
  return bpe_tokenizer(std::move(parts), folder + "/vocab.json");
}

}  // namespace heed::text
