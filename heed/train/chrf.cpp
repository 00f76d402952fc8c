#include "heed/train/chrf.h"

#include <fmt/format.h>

#include <string_view>

#include "heed/text/unicode.h"
#include "heed/train/ngrams.h"

namespace heed::train {
namespace {

std::vector<uint32_t> characters(std::string_view line) {
  std::vector<uint32_t> out;
  for (const char32_t c : text::to_code_points(line)) {
    if (!text::is_blank(c)) out.push_back(c);
  }
  return out;
}

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Words with a mark at their end cut off, or else one at their start.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : text::split_blanks(line)) {
    const size_t size = word.size();
    if (size > 1 && is_ascii_punctuation(word.back())) {
      words.push_back(word.substr(0, size - 1));
      words.push_back(word.substr(size - 1));
    } else if (size > 1 && is_ascii_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

void append_counts(std::vector<int64_t>& values, const std::vector<NgramCount>& ngrams) {
  for (const NgramCount& n : ngrams) {
    values.push_back(n.reference == 0 ? 0 : n.hypothesis);
    values.push_back(n.reference);
    values.push_back(n.matches);
  }
}

void append_word_counts(std::vector<int64_t>& values, std::string_view hypothesis, std::string_view reference,
                        int64_t orders) {
  WordNumbers numbers;
  const std::vector<uint32_t> ours = numbers.of(words_of(hypothesis)), theirs = numbers.of(words_of(reference));
  append_counts(values, count_ngrams(ours, theirs, orders));
}

}  // namespace

SentenceCounts chrf_counts(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                           const ChrfConfig& config) {
  check_same_length("chrf", hypotheses.size(), references.size());
  SentenceCounts counts;
  counts.width = 3 * (config.character_order + config.word_order);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = config.lowercase ? text::to_lower(hypotheses[i]) : hypotheses[i];
    const std::string reference = config.lowercase ? text::to_lower(references[i]) : references[i];
    const std::vector<uint32_t> ours = characters(hypothesis), theirs = characters(reference);
    append_counts(counts.values, count_ngrams(ours, theirs, config.character_order));
    if (config.word_order > 0) append_word_counts(counts.values, hypothesis, reference, config.word_order);
  }
  return counts;
}

double chrf_of_counts(std::span<const int64_t> sum, const ChrfConfig& config) {
  double precision = 0, recall = 0;
  int orders = 0;  // those that both sides are long enough for
  for (size_t i = 0; i + 2 < sum.size(); i += 3) {
    if (sum[i] == 0 || sum[i + 1] == 0) continue;
    precision += static_cast<double>(sum[i + 2]) / static_cast<double>(sum[i]);
    recall += static_cast<double>(sum[i + 2]) / static_cast<double>(sum[i + 1]);
    ++orders;
  }
  if (orders == 0 || precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const auto weight = static_cast<double>(config.beta * config.beta);
  return 100 * ((1 + weight) * precision * recall / (weight * precision + recall));
}

double corpus_chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                   const ChrfConfig& config) {
  return chrf_of_counts(chrf_counts(hypotheses, references, config).sum(), config);
}

std::string chrf_name(const ChrfConfig& config) {
  return fmt::format("chrF{}{}", config.beta, std::string(static_cast<size_t>(config.word_order), '+'));
}

std::string chrf_signature(const ChrfConfig& config, const std::string& version) {
  return fmt::format("nrefs:1|case:{}|eff:yes|nc:{}|nw:{}|space:no|version:heed-{}", config.lowercase ? "lc" : "mixed",
                     config.character_order, config.word_order, version);
}

}  // namespace heed::train
