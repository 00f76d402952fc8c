// Which tokens to go on with. Knows ids and their probabilities, neither text nor model.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "heed/decode/sampling.h"

namespace heed::decode {

struct SearchConfig {
  int64_t beam = 5;           // hypotheses kept; 1 is greedy
  int64_t nbest = 1;          // given back, at most beam
  double length_penalty = 1;  // score = rank / length^penalty; 0 does not mind short ones
  int64_t max_length = 0;     // tokens said beyond a prefix; 0: by the length of the source
  // What the limit stopped is as good as what ended, by its score: a text may go on, a translation should end.
  bool may_go_on = false;
  // Sampling instead of a search: the beam is 1 then.
  bool sample = false;
  SamplingConfig sampling = {};

  int64_t limit(int64_t source_tokens) const { return max_length > 0 ? max_length : 3 * source_tokens + 30; }
  double score(double rank, int64_t length) const;  // length: tokens said, with the end
  void check() const;
};

struct Hypothesis {
  std::vector<int32_t> ids;    // without eos
  double log_probability = 0;  // of the ids and the eos, the model's own
  double rank = 0;             // the same as the search sees it
  double score = 0;            // the rank, by length
  bool ended = false;          // false: the limit came first, or the model had no number to go on with (score -inf)
};

// What a model says about the next token of one hypothesis: the likeliest ids, best first.
struct Candidates {
  std::span<const int32_t> ids;      // -1: no more
  std::span<const float> log_probs;  // by which to search; those that are no numbers are no candidates
  std::span<const float> own = {};   // the model's, where those are others
};

// Each hypothesis after a step: which one it goes on from, and the token that it adds.
struct Continuation {
  int64_t parent;
  int32_t token;
};

// The search for one sentence. Starts with one empty hypothesis.
class BeamSearch {
 public:
  // Any of the ids `ends` is an end.
  BeamSearch(const SearchConfig& config, int64_t limit, std::vector<int32_t> ends)
      : config_(config), limit_(limit), ends_(std::move(ends)) {}

  // Candidates of each live hypothesis, in order.
  std::vector<Continuation> advance(std::span<const Candidates> of_each);
  // Among so many, enough are not eos.
  static int64_t wanted_candidates(const SearchConfig& config) { return 2 * config.beam; }
  bool done() const { return done_; }
  const std::vector<Hypothesis>& live() const { return live_; }
  std::vector<Hypothesis> best() const;  // the best first, nbest at most; when done at least one

 private:
  void end(Hypothesis hypothesis, bool with_eos);
  void sort_ended();
  bool settled();
  void finish();

  SearchConfig config_;
  int64_t limit_;
  std::vector<int32_t> ends_;
  std::vector<Hypothesis> live_{1}, ended_;
  bool done_ = false;
};

}  // namespace heed::decode
