// Translating as a state and a step: sentences join a running batch, each step adds one token to every hypothesis,
// and those that are done leave with their answers. What a sentence gets does not depend on its neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/decode/search.h"
#include "heed/decode/step_rows.h"
#include "heed/models/encoder_decoder.h"
#include "heed/nn/cache.h"

namespace heed::decode {

struct Request {
  int64_t number = 0, sample = 0;    // come back with the answer; samples are drawn by them
  std::vector<int32_t> source;       // with eos
  std::vector<int32_t> prefix = {};  // what the answer must start with
};
struct Answer {
  int64_t number = 0, sample = 0;
  std::vector<Hypothesis> best;  // the prefix is part of their ids
};

// Ids with a meaning of their own: the decoder starts with `start`, and never says what is in `never`.
struct DecodeIds {
  int32_t start = 2, eos = 0;
  std::vector<int32_t> never = {1, 2};
};

class Translation {
 public:
  Translation(const models::EncoderDecoder& model, const SearchConfig& config, const DecodeIds& ids = {});

  void join(const std::vector<Request>& requests);
  std::vector<Answer> step();
  int64_t sentences() const { return static_cast<int64_t>(running_.size()); }
  int64_t hypotheses() const;

 private:
  struct Running {
    Request request;
    BeamSearch search;
    Rows memory;                             // rows of the source's keys
    std::vector<Rows> past;                  // of each hypothesis the rows of its own keys
    std::vector<std::vector<int32_t>> next;  // and the tokens that come next: one, or at the start the prefix
  };
  // The likeliest next tokens, k a hypothesis.
  struct Choices {
    int64_t k;
    std::vector<int32_t> ids;
    std::vector<float> log_probs;
  };

  Tensor next_logits();  // (hypotheses, V)
  Choices choose(const Tensor& logits) const;
  void go_on(Running& r, const std::vector<Continuation>& continuations);

  const models::EncoderDecoder& model_;
  SearchConfig config_;
  DecodeIds ids_;
  nn::CachePool self_, cross_;
  std::vector<Running> running_;
};

}  // namespace heed::decode
