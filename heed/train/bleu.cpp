#include "heed/train/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "heed/text/unicode.h"
#include "heed/train/ngrams.h"

namespace heed::train {
namespace {

constexpr size_t kOrders = 4;
constexpr size_t kWidth = 2 + 2 * kOrders;

std::string tokenized(std::string_view line, const BleuConfig& config) {
  const std::string lower = config.lowercase ? text::to_lower(line) : std::string(line);
  return bleu_tokenized(text::trim_end(lower), config.tokens);
}

}  // namespace

SentenceCounts bleu_counts(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                           const BleuConfig& config) {
  check_same_length("bleu", hypotheses.size(), references.size());
  SentenceCounts counts;
  counts.width = kWidth;
  counts.values.reserve(kWidth * hypotheses.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = tokenized(hypotheses[i], config), reference = tokenized(references[i], config);
    WordNumbers numbers;
    const std::vector<uint32_t> ours = numbers.of(text::split_blanks(hypothesis)),
                                theirs = numbers.of(text::split_blanks(reference));
    const std::vector<NgramCount> ngrams = count_ngrams(ours, theirs, kOrders);
    counts.values.push_back(static_cast<int64_t>(ours.size()));
    counts.values.push_back(static_cast<int64_t>(theirs.size()));
    for (const NgramCount& n : ngrams) counts.values.push_back(n.matches);
    for (const NgramCount& n : ngrams) counts.values.push_back(n.hypothesis);
  }
  return counts;
}

Bleu bleu_of_counts(std::span<const int64_t> sum, const BleuConfig& config) {
  Bleu bleu;
  bleu.hypothesis_length = sum[0];
  bleu.reference_length = sum[1];
  if (sum[0] < sum[1]) {
    const double ratio = static_cast<double>(sum[1]) / static_cast<double>(sum[0]);
    bleu.brevity_penalty = sum[0] > 0 ? std::exp(1.0 - ratio) : 0.0;
  }
  const std::span<const int64_t> correct = sum.subspan(2, kOrders), total = sum.subspan(2 + kOrders, kOrders);
  if (std::all_of(correct.begin(), correct.end(), [](int64_t n) { return n == 0; })) return bleu;

  // Each order without a match counts as half as much as the one before: "exp", the way of mteval.
  double halved = 1;
  size_t orders = kOrders;
  for (size_t n = 0; n < kOrders && total[n] > 0; ++n) {
    if (config.effective_order) orders = n + 1;
    if (correct[n] == 0) halved *= 2;
    const auto all = static_cast<double>(total[n]);
    bleu.precisions[n] = correct[n] == 0 ? 100.0 / (halved * all) : 100.0 * static_cast<double>(correct[n]) / all;
  }
  double logs = 0;
  for (size_t n = 0; n < orders; ++n) logs += bleu.precisions[n] == 0 ? -9999999999.0 : std::log(bleu.precisions[n]);
  bleu.score = bleu.brevity_penalty * std::exp(logs / static_cast<double>(orders));
  return bleu;
}

Bleu corpus_bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                 const BleuConfig& config) {
  return bleu_of_counts(bleu_counts(hypotheses, references, config).sum(), config);
}

std::string Bleu::text() const {
  const double ratio =
      reference_length == 0 ? 0.0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
  return fmt::format("{:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score,
                     precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio,
                     hypothesis_length, reference_length);
}

std::string bleu_signature(const BleuConfig& config, const std::string& version) {
  return fmt::format("nrefs:1|case:{}|eff:{}|tok:{}|smooth:exp|version:heed-{}", config.lowercase ? "lc" : "mixed",
                     config.effective_order ? "yes" : "no", name_of(config.tokens), version);
}

}  // namespace heed::train
