#include "heed/decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/base/error.h"

namespace heed::decode {

void SearchConfig::check() const {
  if (beam < 1 || beam > 256) fail("[search] a beam of {}: expected 1 to 256", beam);
  if (nbest < 1 || nbest > beam) fail("[search] the best {} of a beam of {}: expected 1 to {}", nbest, beam, beam);
  if (!(length_penalty >= 0 && length_penalty <= 10)) {
    fail("[search] length penalty {}: expected 0 to 10", length_penalty);
  }
  if (max_length < 0) fail("[search] a length of {}: expected at least 1", max_length);
  sampling.check();
  if (sample && beam != 1) fail("[search] sampling with a beam of {}: expected 1", beam);
}

double SearchConfig::score(double rank, int64_t length) const {
  return rank / std::pow(static_cast<double>(std::max<int64_t>(1, length)), length_penalty);
}

void BeamSearch::end(Hypothesis hypothesis, bool with_eos) {
  hypothesis.ended = with_eos;
  hypothesis.score = config_.score(hypothesis.rank, static_cast<int64_t>(hypothesis.ids.size()) + with_eos);
  ended_.push_back(std::move(hypothesis));
}

std::vector<Continuation> BeamSearch::advance(std::span<const Candidates> of_each) {
  struct Choice {
    double rank, log_probability;
    Continuation next;
  };
  std::vector<Choice> choices;
  for (size_t h = 0; h < of_each.size(); ++h) {
    for (size_t i = 0; i < of_each[h].ids.size() && of_each[h].ids[i] >= 0; ++i) {
      const Candidates& c = of_each[h];
      if (!std::isfinite(c.log_probs[i])) continue;
      choices.push_back({live_[h].rank + double{c.log_probs[i]},
                         live_[h].log_probability + double{c.own.empty() ? c.log_probs[i] : c.own[i]},
                         {static_cast<int64_t>(h), c.ids[i]}});
    }
  }
  if (choices.empty()) {
    for (Hypothesis& h : live_) h.rank = h.log_probability = -std::numeric_limits<double>::infinity();
    finish();
    return {};
  }
  // Stable: of equals the one from the better hypothesis.
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) { return a.rank > b.rank; });
  std::vector<Hypothesis> next;
  std::vector<Continuation> continuations;
  for (size_t rank = 0; rank < choices.size() && static_cast<int64_t>(next.size()) < config_.beam; ++rank) {
    const Choice& choice = choices[rank];
    Hypothesis hypothesis = live_[static_cast<size_t>(choice.next.parent)];
    hypothesis.rank = choice.rank, hypothesis.log_probability = choice.log_probability;
    if (std::find(ends_.begin(), ends_.end(), choice.next.token) != ends_.end()) {
      // An end that is not among the best ways to go on is no end yet.
      if (static_cast<int64_t>(rank) < config_.beam) end(std::move(hypothesis), true);
      if (config_.beam == 1) break;
      continue;
    }
    hypothesis.ids.push_back(choice.next.token);
    next.push_back(std::move(hypothesis));
    continuations.push_back(choice.next);
  }
  live_ = std::move(next);
  if (!settled()) return continuations;
  finish();
  return {};
}

void BeamSearch::sort_ended() {
  std::stable_sort(ended_.begin(), ended_.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
}

// Whether nothing better can come; keeps the best of what ended.
bool BeamSearch::settled() {
  sort_ended();
  const size_t enough = static_cast<size_t>(config_.beam);
  if (ended_.size() > enough) ended_.resize(enough);
  const int64_t length = live_.empty() ? 0 : static_cast<int64_t>(live_[0].ids.size());
  return live_.empty() || length >= limit_ ||
         (ended_.size() == enough && config_.score(live_[0].rank, length) <= ended_.back().score);
}

void BeamSearch::finish() {
  done_ = true;
  // Where fewer ended than are asked for: those that the limit stopped.
  for (Hypothesis& hypothesis : live_) {
    if (config_.may_go_on || static_cast<int64_t>(ended_.size()) < config_.nbest) end(std::move(hypothesis), false);
  }
  live_.clear();
  if (config_.may_go_on) sort_ended();
}

std::vector<Hypothesis> BeamSearch::best() const {
  std::vector<Hypothesis> best = ended_;
  if (static_cast<int64_t>(best.size()) > config_.nbest) best.resize(static_cast<size_t>(config_.nbest));
  return best;
}

}  // namespace heed::decode
