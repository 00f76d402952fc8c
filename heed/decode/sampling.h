// The next token by its probability. A draw depends on its key alone: not on batches, threads or what was drawn before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed::decode {

struct Bias {
  int32_t id = 0;
  float add = 0;  // to the logit
};

// In this order: penalties, biases and bans change the logits; temperature; then the cuts by top-k, top-p and min-p.
struct SamplingConfig {
  double temperature = 1;  // 0: always the likeliest
  int64_t top_k = 0;       // the k likeliest alone; 0: all
  double top_p = 1;        // the fewest that hold this much together
  double min_p = 0;        // those that are at least this share of the likeliest
  // A logit of an id that prompt or answer hold is divided by it where positive, else multiplied.
  double repetition_penalty = 1;
  // Of an id of the answer: taken off once, and as often as it is there.
  double presence_penalty = 0, frequency_penalty = 0;
  std::vector<int32_t> ban = {};
  std::vector<Bias> bias = {};
  uint64_t seed = 1;

  bool changes_logits() const;
  void check() const;
  void check_ids(int64_t vocabulary) const;
};

// What was there before the token.
struct Said {
  std::span<const int32_t> prompt, answer;
};
void change_logits(std::span<float> logits, const SamplingConfig& config, const Said& said);

// What a draw depends on: the same prompt is gone on with in the same way, alone and in any batch.
struct SampleKey {
  uint64_t seed;
  uint32_t text, sample, position;  // text: text_key() of the prompt, or of the source
};
uint32_t text_key(std::span<const int32_t> ids);

struct TokenChoice {
  int32_t id = -1;     // -1: no token is possible, the logits are masked or no numbers
  float log_prob = 0;  // log softmax(logits)[id], without temperature and cuts
};
// From softmax(logits / temperature) after the cuts, or the likeliest; of equals the smaller id.
TokenChoice sample_token(std::span<const float> logits, const SamplingConfig& config, const SampleKey& key);

// log sum exp(logits): what log softmax takes off; infinite where no logit is a number.
float log_sum_exp(std::span<const float> logits);
// log softmax(logits)[id]
float log_probability(std::span<const float> logits, int32_t id);

}  // namespace heed::decode
