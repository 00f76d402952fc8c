#include "heed/train/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heed/base/error.h"
#include "heed/base/random.h"

namespace heed::train {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

BootstrapEstimate estimate(double score, std::vector<double> scores) {
  const double mean = mean_of(scores);
  std::sort(scores.begin(), scores.end());
  const size_t low = scores.size() / 40, high = scores.size() - low - 1;
  return {score, mean, 0.5 * (scores[high] - scores[low])};
}

double score_of_choice(const SentenceCounts& counts, const std::vector<int64_t>& choice, const ScoreOfCounts& score) {
  std::vector<int64_t> sum(static_cast<size_t>(counts.width));
  for (const int64_t i : choice) {
    const std::span<const int64_t> row = counts.row(i);
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += row[k];
  }
  return score(sum);
}

}  // namespace

PairedBootstrap paired_bootstrap(const SentenceCounts& baseline, const SentenceCounts& system,
                                 const ScoreOfCounts& score, const BootstrapConfig& config) {
  const int64_t n = baseline.sentences();
  if (n != system.sentences() || baseline.width != system.width) {
    fail("[bootstrap] {} sentences of {} counts for {} of {}, expected the same of both systems", n, baseline.width,
         system.sentences(), system.width);
  }
  if (n == 0) fail("[bootstrap] no sentences, expected at least 1");
  if (config.samples < 1) fail("[bootstrap] samples is {}, expected at least 1", config.samples);

  Random random(config.seed);
  std::vector<int64_t> choice(static_cast<size_t>(n));
  std::vector<double> first, second, differences;
  for (int64_t sample = 0; sample < config.samples; ++sample) {
    for (int64_t& i : choice) i = static_cast<int64_t>(random.below(static_cast<uint64_t>(n)));
    first.push_back(score_of_choice(baseline, choice, score));
    second.push_back(score_of_choice(system, choice, score));
    differences.push_back(std::abs(second.back() - first.back()));
  }

  PairedBootstrap result;
  result.baseline = estimate(score(baseline.sum()), first);
  result.system = estimate(score(system.sum()), second);
  // The differences, moved to a mean of 0, stand for those between two equal systems; one more so that p is never 0.
  // At least as large, not larger: a system against itself has p = 1.
  const double mean = mean_of(differences), real = std::abs(result.baseline.score - result.system.score);
  const auto larger = std::count_if(differences.begin(), differences.end(), [&](double d) { return d - mean >= real; });
  result.p_value = static_cast<double>(larger + 1) / static_cast<double>(config.samples + 1);
  return result;
}

}  // namespace heed::train
