#include "heed/text/train_tokenizer_lm.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/char_tokenizer.h"
#include "heed/text/chat_template.h"
#include "heed/text/spm_file.h"
#include "heed/text/train_tokenizer_bytes.h"
#include "heed/text/training_lines.h"
#include "heed/text/unicode.h"

namespace heed::text {
namespace {

using nlohmann::ordered_json;

constexpr const char* kEndOfText = "<|endoftext|>";
constexpr size_t kChunkBytes = 16 << 20;

// As tokenizer.json and tokenizer_config.json describe one.
ordered_json special_token(const char* text) {
  return {{"content", text}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false},  {"special", true}};
}

// --- Characters ---

// The most frequent ones where there is no room for all, in the order of Unicode.
NamedFiles train_char(const TokenizerConfig& config, const LineSource& texts) {
  std::map<char32_t, int64_t> counts;
  for (std::string text; texts(text);) {
    for (const char32_t c : to_code_points(text)) ++counts[c];
  }
  if (counts.empty()) fail("[tokenizer] the text is empty, expected characters to learn from");
  constexpr int64_t kSpecials = 2;
  std::vector<std::pair<int64_t, char32_t>> order;
  order.reserve(counts.size());
  for (const auto& [c, count] : counts) order.emplace_back(-count, c);
  std::sort(order.begin(), order.end());
  if (config.vocabulary > kSpecials)
    order.resize(std::min(order.size(), static_cast<size_t>(config.vocabulary - kSpecials)));
  std::u32string characters;
  for (const auto& [count, c] : order) characters += c;
  std::sort(characters.begin(), characters.end());
  return char_files(characters);
}

// --- GPT-2's byte pairs ---

std::vector<const char*> bpe_specials(bool chat) {
  return chat ? std::vector{kEndOfText, kMessageBegin, kMessageEnd} : std::vector{kEndOfText};
}

NamedFiles bpe_files(const LearnedPairs& learned, bool chat) {
  ordered_json vocabulary = ordered_json::object(), merges = ordered_json::array(), added = ordered_json::array();
  std::string merges_text = "#version: 0.2\n";
  for (size_t id = 0; id < learned.pieces.size(); ++id) vocabulary[learned.pieces[id]] = id;
  for (const char* token : bpe_specials(chat)) {
    const size_t id = vocabulary.size();
    vocabulary[token] = id;
    added.push_back(special_token(token));
    added.back()["id"] = id;
  }
  for (const auto& [left, right] : learned.merges) {
    const std::string line =
        learned.pieces[static_cast<size_t>(left)] + " " + learned.pieces[static_cast<size_t>(right)];
    merges.push_back(line);
    merges_text += line + "\n";
  }
  const auto byte_level = [](bool trim) {
    return ordered_json{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", trim}, {"use_regex", true}};
  };
  const ordered_json file = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", added},
                             {"normalizer", nullptr},
                             {"pre_tokenizer", byte_level(true)},
                             {"post_processor", byte_level(false)},
                             {"decoder", byte_level(true)},
                             {"model",
                              {{"type", "BPE"},
                               {"dropout", nullptr},
                               {"unk_token", nullptr},
                               {"continuing_subword_prefix", ""},
                               {"end_of_word_suffix", ""},
                               {"fuse_unk", false},
                               {"byte_fallback", false},
                               {"ignore_merges", false},
                               {"vocab", vocabulary},
                               {"merges", merges}}}};
  const ordered_json names = {
      {"bos_token", kEndOfText}, {"eos_token", chat ? kMessageEnd : kEndOfText}, {"unk_token", kEndOfText}};
  ordered_json settings = {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", false}};
  settings.update(names);
  return {{"tokenizer.json", file.dump(1) + "\n"},
          {"vocab.json", vocabulary.dump() + "\n"},
          {"merges.txt", merges_text},
          {"tokenizer_config.json", settings.dump(2) + "\n"},
          {"special_tokens_map.json", names.dump(2) + "\n"}};
}

NamedFiles train_bpe(const TokenizerConfig& config, bool chat, const LineSource& texts) {
  constexpr int64_t kLetters = 256;
  const auto specials = static_cast<int64_t>(bpe_specials(chat).size());
  if (config.vocabulary != 0 && config.vocabulary < kLetters + specials)
    fail("[tokenizer] vocabulary is {}, expected at least {}", config.vocabulary, kLetters + specials);
  WordCounts counts;
  std::vector<std::string> chunk;
  int64_t bytes = 0;
  size_t held = 0;
  const auto count_chunk = [&] { count_words(counts, chunk), chunk.clear(), held = 0; };
  for (std::string text; texts(text);) {
    held += text.size(), bytes += static_cast<int64_t>(text.size());
    chunk.push_back(replace_invalid(text));
    if (held > kChunkBytes) count_chunk();
  }
  count_chunk();
  if (counts.empty()) fail("[tokenizer] the text is empty, expected words to learn from");
  const int64_t wanted = config.vocabulary != 0 ? config.vocabulary : vocabulary_by_text(config, bytes);
  const LearnedPairs learned = learn_byte_pairs(counts, std::max<int64_t>(0, wanted - kLetters - specials));
  const int64_t possible = static_cast<int64_t>(learned.pieces.size()) + specials;
  if (config.vocabulary > possible) {
    fail("[tokenizer] vocabulary {} is larger than the text allows, expected at most {}", config.vocabulary, possible);
  }
  return bpe_files(learned, chat);
}

// --- SentencePiece ---

// Marks of conversations have the ids behind the pieces.
constexpr int64_t kChatMarks = 2;

NamedFiles train_sentencepiece(TokenizerConfig config, bool chat, const LineSource& texts) {
  config.layout = TokenizerConfig::Layout::kLlama;
  if (chat && config.vocabulary > kChatMarks) config.vocabulary -= kChatMarks;
  LineSample sample(config.max_lines, config.seed);
  for (std::string text; texts(text);) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      if (end > begin) sample.add(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
  }
  const std::string model = train_spm(config, std::move(sample).take(), "the text");
  const ordered_json names = {{"bos_token", "<s>"}, {"eos_token", chat ? kMessageEnd : "</s>"}, {"unk_token", "<unk>"}};
  ordered_json settings = {{"tokenizer_class", "LlamaTokenizer"},
                           {"add_bos_token", !chat},
                           {"add_eos_token", false},
                           {"legacy", false},
                           {"clean_up_tokenization_spaces", false}};
  settings.update(names);
  if (chat) {
    const size_t pieces = read_spm(model, "new tokenizer").pieces.size();
    std::vector<const char*> tokens = {"<unk>", "<s>", "</s>"};
    ordered_json& added = settings["added_tokens_decoder"];
    for (size_t id = 0; id < tokens.size(); ++id) added[std::to_string(id)] = special_token(tokens[id]);
    added[std::to_string(pieces)] = special_token(kMessageBegin);
    added[std::to_string(pieces + 1)] = special_token(kMessageEnd);
  }
  return {{"tokenizer.model", model},
          {"tokenizer_config.json", settings.dump(2) + "\n"},
          {"special_tokens_map.json", names.dump(2) + "\n"}};
}

NamedFiles train_files(const LmTokenizerConfig& config, const LineSource& texts) {
  TokenizerConfig pieces = config.pieces;
  switch (config.kind) {
    case LmTokenizerKind::kByte:
      return byte_files();
    case LmTokenizerKind::kChar:
      return train_char(pieces, texts);
    case LmTokenizerKind::kBpe:
      return train_bpe(pieces, config.chat, texts);
    case LmTokenizerKind::kSentencePiece:
      pieces.kind = TokenizerKind::kBpe;
      break;
    case LmTokenizerKind::kUnigram:
      pieces.kind = TokenizerKind::kUnigram;
      break;
  }
  return train_sentencepiece(pieces, config.chat, texts);
}

}  // namespace

const std::vector<std::string>& lm_tokenizer_kind_names() {
  static const std::vector<std::string> names = {"bpe", "sentencepiece", "unigram", "char", "byte"};
  return names;
}

LmTokenizerKind lm_tokenizer_kind(const std::string& name) {
  const std::vector<std::string>& names = lm_tokenizer_kind_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<LmTokenizerKind>(found - names.begin());
  const std::string near = nearest(name, names);
  if (!near.empty()) fail("[tokenizer] unknown kind {}: did you mean '{}'?", in_quotes(name), near);
  fail("[tokenizer] unknown kind {}: expected {}", in_quotes(name), fmt::join(names, ", "));
}

TrainedTokenizer train_lm_tokenizer(const LmTokenizerConfig& config, const LineSource& texts) {
  TrainedTokenizer trained;
  trained.files = train_files(config, texts);
  const bool has_marks = config.kind != LmTokenizerKind::kChar && config.kind != LmTokenizerKind::kByte;
  if (config.chat) add_default_chat_template(trained.files, "new tokenizer", has_marks);
  // Read back as from a folder: what is stored is what is used.
  trained.tokenizer = read_tokenizer(trained.files, "new tokenizer");
  return trained;
}

}  // namespace heed::text
