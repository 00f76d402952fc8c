#include "heed/text/train_tokenizer.h"

#include <fmt/ranges.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/text/spm_file.h"
#include "heed/text/tokenizer_files.h"
#include "heed/text/training_lines.h"

namespace heed::text {
namespace {

constexpr int64_t kSpecials = 3, kBytes = 256;

[[noreturn]] void unknown_name(const char* what, const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  if (!near.empty()) fail("[tokenizer] unknown {} {}: did you mean '{}'?", what, in_quotes(name), near);
  fail("[tokenizer] unknown {} {}: expected {}", what, in_quotes(name), fmt::join(names, ", "));
}

bool has_byte_fallback(TokenizerKind kind) { return kind == TokenizerKind::kBpe || kind == TokenizerKind::kUnigram; }

int64_t smallest_vocabulary(TokenizerKind kind) { return kSpecials + 1 + (has_byte_fallback(kind) ? kBytes : 0); }

void check(const TokenizerConfig& config) {
  const std::vector<std::string>& rules = normalization_names();
  if (std::find(rules.begin(), rules.end(), config.normalization) == rules.end())
    unknown_name("normalization", config.normalization, rules);
  if (!(config.character_coverage >= 0.98 && config.character_coverage <= 1.0)) {
    fail("[tokenizer] character_coverage is {}, expected 0.98 to 1", config.character_coverage);
  }
  if (config.max_lines < 1) fail("[tokenizer] max_lines is {}, expected at least 1", config.max_lines);
  constexpr int64_t kLargest = 1'000'000;
  if (config.vocabulary > kLargest) {
    fail("[tokenizer] vocabulary is {}, expected at most {}", config.vocabulary, kLargest);
  }
  if (config.vocabulary != 0 && config.vocabulary < smallest_vocabulary(config.kind)) {
    fail("[tokenizer] vocabulary is {}, expected at least {}", config.vocabulary, smallest_vocabulary(config.kind));
  }
}

class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

std::unordered_map<std::string, std::string> trainer_settings(const TokenizerConfig& config) {
  const bool subwords = has_byte_fallback(config.kind), llama = config.layout == TokenizerConfig::Layout::kLlama;
  const char* yes_of_llama = llama ? "true" : "false";
  return {{"model_type", tokenizer_kind_names()[static_cast<size_t>(config.kind)]},
          {"vocab_size", std::to_string(config.vocabulary)},
          {"hard_vocab_limit", subwords ? "true" : "false"},
          {"byte_fallback", subwords ? "true" : "false"},
          {"character_coverage", fmt::format("{}", config.character_coverage)},
          {"normalization_rule_name", config.normalization},
          {"eos_id", llama ? "2" : "0"},
          {"unk_id", llama ? "0" : "1"},
          {"pad_id", llama ? "-1" : "2"},
          {"bos_id", llama ? "1" : "-1"},
          {"remove_extra_whitespaces", llama ? "false" : "true"},
          {"allow_whitespace_only_pieces", yes_of_llama},
          {"split_digits", yes_of_llama},
          {"num_threads", "4"},  // fixed: sums are taken thread by thread, and the pieces depend on them
          {"input_sentence_size", "0"},
          {"shuffle_input_sentence", "false"},
          {"minloglevel", "9"}};
}

// The whole number after `before` in a message of SentencePiece, or -1.
int64_t number_after(const std::string& message, std::string_view before) {
  const size_t at = message.find(before);
  if (at == std::string::npos) return -1;
  int64_t number = -1;
  std::from_chars(message.data() + at + before.size(), message.data() + message.size(), number);
  return number;
}

// What SentencePiece says is possible, where it refused a size; else 0.
int64_t possible_vocabulary(const std::string& message, TokenizerKind kind) {
  if (const int64_t most = number_after(message, "Please set it to a value <= "); most >= 0) return most;
  const size_t at = message.find("Vocabulary size is smaller than required_chars. ");
  if (at == std::string::npos) return 0;
  return std::max(number_after(message.substr(at), " vs "), smallest_vocabulary(kind));
}

[[noreturn]] void explain(const std::string& message, const TokenizerConfig& config, const std::string& side) {
  const int64_t possible = possible_vocabulary(message, config.kind);
  if (possible == 0) fail("[tokenizer] cannot learn from {}: {}", side, printable(message, 200));
  if (possible < config.vocabulary) {
    fail("[tokenizer] vocabulary {} is larger than {} allows, expected at most {}", config.vocabulary, side, possible);
  }
  fail("[tokenizer] vocabulary {} is too small for the characters of {}, expected at least {}", config.vocabulary, side,
       possible);
}

// The ids of what heed trains are SentencePiece's own.
Vocabulary vocabulary_of(const std::string& model, const std::string& label) {
  std::vector<std::string> pieces;
  for (const SpmPiece& piece : read_spm(model, label).pieces) pieces.emplace_back(piece.text);
  return Vocabulary(std::move(pieces), label);
}

NamedFiles train_files(const TokenizerConfig& config, const LineSource& source, const LineSource& target) {
  const auto read = [&](LineSample& sample, const LineSource& lines) {
    for (std::string line; lines(line);) sample.add(line);
  };
  LineSample first(config.max_lines, config.seed);
  read(first, source);
  if (config.joint) {
    read(first, target);
    const std::string model = train_spm(config, std::move(first).take(), "the text");
    const Vocabulary vocabulary = vocabulary_of(model, "source.spm");
    return marian_files({model, model, &vocabulary, nullptr});
  }
  const std::string source_model = train_spm(config, std::move(first).take(), "the source text");
  LineSample second(config.max_lines, config.seed);
  read(second, target);
  const std::string target_model = train_spm(config, std::move(second).take(), "the target text");
  const Vocabulary source_vocabulary = vocabulary_of(source_model, "source.spm");
  const Vocabulary target_vocabulary = vocabulary_of(target_model, "target.spm");
  return marian_files({source_model, target_model, &source_vocabulary, &target_vocabulary});
}

}  // namespace

const std::vector<std::string>& tokenizer_kind_names() {
  static const std::vector<std::string> names = {"bpe", "unigram", "word", "char", "byte"};
  return names;
}

const std::vector<std::string>& normalization_names() {
  static const std::vector<std::string> names = {"identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"};
  return names;
}

TokenizerKind tokenizer_kind(const std::string& name) {
  const std::vector<std::string>& names = tokenizer_kind_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) unknown_name("kind", name, names);
  return static_cast<TokenizerKind>(found - names.begin());
}

int64_t vocabulary_by_text(const TokenizerConfig& config, int64_t bytes) {
  constexpr int64_t kBytesOfPiece = 400;
  return std::clamp<int64_t>(bytes / kBytesOfPiece, 1000, std::max<int64_t>(1000, config.most_by_text));
}

std::string train_spm(TokenizerConfig config, const std::vector<std::string>& lines, const std::string& side) {
  check(config);
  const auto has_text = [](const std::string& line) { return line.find_first_not_of(' ') != std::string::npos; };
  if (std::none_of(lines.begin(), lines.end(), has_text))
    fail("[tokenizer] {} is empty, expected lines to learn from", side);
  const bool by_text = config.vocabulary == 0;
  if (by_text) {
    int64_t bytes = 0;
    for (const std::string& line : lines) bytes += static_cast<int64_t>(line.size());
    config.vocabulary = vocabulary_by_text(config, bytes);
  }
  std::string model;
  const auto train = [&] {
    Lines iterator(lines);
    return sentencepiece::SentencePieceTrainer::Train(trainer_settings(config), &iterator, &model);
  };
  auto status = train();
  if (const int64_t possible = possible_vocabulary(status.ToString(), config.kind); by_text && possible > 0) {
    config.vocabulary = possible;
    status = train();
  }
  if (!status.ok()) explain(status.ToString(), config, side);
  return model;
}

TrainedTokenizers train_tokenizers(const TokenizerConfig& config, const LineSource& source, const LineSource& target) {
  TrainedTokenizers trained;
  if (config.kind == TokenizerKind::kByte) {
    trained.files = byte_files();
  } else {
    check(config);
    trained.files = train_files(config, source, target);
  }
  // Read back as from a folder: what is stored is what is used.
  trained.pair = read_tokenizers(trained.files, "new tokenizer");
  return trained;
}

}  // namespace heed::text
