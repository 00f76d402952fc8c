// Paired bootstrap resampling (Koehn, 2004): is one system really better than the other, or was it these sentences?
#pragma once

#include <cstdint>

#include "heed/train/metric.h"

namespace heed::train {

struct BootstrapConfig {
  int64_t samples = 1000;
  uint64_t seed = 12345;
};

struct BootstrapEstimate {
  double score = 0;     // of all sentences
  double mean = 0;      // over the samples
  double interval = 0;  // 95 % of the samples lie within mean +- interval
};

struct PairedBootstrap {
  BootstrapEstimate baseline, system;
  double p_value = 1;  // how likely so large a difference would be if the two were equally good
};

// Both systems' counts of the same sentences and metric; every sample draws the same sentences for both.
PairedBootstrap paired_bootstrap(const SentenceCounts& baseline, const SentenceCounts& system,
                                 const ScoreOfCounts& score, const BootstrapConfig& config = {});

}  // namespace heed::train
