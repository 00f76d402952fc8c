// Corpus BLEU (Papineni et al., 2002) with one reference, equal to sacrebleu's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heed/train/bleu_tokenizer.h"
#include "heed/train/metric.h"

namespace heed::train {

struct BleuConfig {
  BleuTokens tokens = BleuTokens::k13a;
  bool lowercase = false;
  bool effective_order = false;  // leave out orders longer than the text: for single sentences
};

struct Bleu {
  double score = 0;  // 0 to 100
  std::array<double, 4> precisions{};
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;
  // "27.75 62.5/28.6/16.7/25.0 (BP = 1.000 ratio = 1.143 hyp_len = 8 ref_len = 7)"
  std::string text() const;
};

// A row is: length of the hypothesis, of the reference, then the matching and then all n-grams for n = 1 to 4.
SentenceCounts bleu_counts(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                           const BleuConfig& config = {});
Bleu bleu_of_counts(std::span<const int64_t> sum, const BleuConfig& config = {});
Bleu corpus_bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                 const BleuConfig& config = {});

// What must be the same for two scores to be compared: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-VERSION".
std::string bleu_signature(const BleuConfig& config, const std::string& version);

}  // namespace heed::train
