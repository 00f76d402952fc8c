// Corpus chrF and chrF++ (Popovic, 2015 and 2017) with one reference, equal to sacrebleu's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heed/train/metric.h"

namespace heed::train {

struct ChrfConfig {
  int64_t character_order = 6;
  int64_t word_order = 0;  // 2 is chrF++
  int64_t beta = 2;        // recall counts beta times as much as precision
  bool lowercase = false;
};

// A row is, for each order of characters and then of words: n-grams of the hypothesis, of the reference, of both.
SentenceCounts chrf_counts(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                           const ChrfConfig& config = {});
double chrf_of_counts(std::span<const int64_t> sum, const ChrfConfig& config = {});  // 0 to 100
double corpus_chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
                   const ChrfConfig& config = {});

std::string chrf_name(const ChrfConfig& config);  // "chrF2", "chrF2++"
std::string chrf_signature(const ChrfConfig& config, const std::string& version);

}  // namespace heed::train
