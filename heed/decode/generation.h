// Generating as a state and a step: sequences join a running batch with their prompts, each step adds one token to
// each, and those that are done leave with their answers. What a sequence gets does not depend on its neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heed/decode/prefixes.h"
#include "heed/decode/sampling.h"
#include "heed/decode/search.h"
#include "heed/models/decoder.h"

namespace heed::decode {

struct GenerationSettings {
  SamplingConfig sampling = {};
  int64_t max_tokens = 128;
  int64_t beam = 1;  // more: a search for the likeliest text, without drawing
  int64_t nbest = 1;
  double length_penalty = 1;
  int64_t alternatives = 0;  // the likeliest tokens beside each, with their log-probabilities
  // Where the context is full the older half is forgotten; without it the text ends there.
  bool window = false;

  void check() const;
};

struct GenerationRequest {
  int64_t number = 0, sample = 0;    // come back with the answer
  std::vector<int32_t> prompt = {};  // at least one
  GenerationSettings settings = {};
};

struct GeneratedToken {
  TokenChoice chosen;                     // by the model itself, before anything of SamplingConfig
  std::vector<TokenChoice> alternatives;  // the likeliest first
};

enum class StopReason { kEnd, kLength, kStop, kContext, kNoNumber };
const char* name_of(StopReason reason);

struct GeneratedIds {
  std::vector<int32_t> ids;            // without prompt and end
  std::vector<GeneratedToken> tokens;  // beside each id; of a search none
  double log_probability = 0;          // of the ids and the end, by the model itself
  double score = 0;                    // of a search, which sees penalties and biases; else the log-probability
  StopReason reason = StopReason::kEnd;
};
struct GenerationAnswer {
  int64_t number = 0, sample = 0;
  std::vector<GeneratedIds> best;  // one, or of a search nbest at most
};

// Ids with a meaning of their own. A window that forgets keeps `start` where a prompt begins with it.
struct GenerationIds {
  int32_t start = -1;
  std::vector<int32_t> ends = {}, never = {};
};
// known_ids: a tokenizer's; ids from there on are never said. 0: all of the model's are.
GenerationIds generation_ids(const models::ModelConfig& config, int64_t known_ids = 0);

// Tokens that the model may look at: its table of positions, or what it was trained with.
int64_t context_length(const models::ModelConfig& config);

// An error where a prompt is longer than the context, and its start is not to be forgotten.
void check_length(std::span<const int32_t> prompt, const models::ModelConfig& config,
                  const GenerationSettings& settings, int64_t number);

struct GenerationLimits {
  int64_t prompt_block = 512;  // tokens of prompts a step, so that a long one neither stalls the others nor needs much
  int64_t kept_rows = 2048;    // tokens whose keys stay for prompts that start alike
};

class Generation {
 public:
  // Called with each new token of a sequence that is no search; false ends it.
  using OnToken = std::function<bool(const GenerationRequest&, const GeneratedToken&)>;

  Generation(const models::Decoder& model, const GenerationIds& ids, const GenerationLimits& limits = {});

  void join(std::vector<GenerationRequest> requests);
  std::vector<GenerationAnswer> step(const OnToken& on_token = {});
  int64_t sequences() const { return static_cast<int64_t>(running_.size()); }
  int64_t tokens_computed() const { return computed_; }
  int64_t rows_held() const { return pool_.used(); }

 private:
  // One text that grows: of the first rows.size() tokens the keys are known.
  struct Branch {
    std::vector<int32_t> tokens;
    Rows rows;
    bool planned = false;  // this step computes some of its tokens
    bool reading() const { return tokens.size() - rows.size() > 1; }
  };
  struct Running {
    GenerationRequest request;
    std::vector<Branch> branches;
    std::optional<BeamSearch> search;
    GeneratedIds answer;
    bool wanted = false, done = false;  // wanted: this step tells its next tokens
  };

  void check(const GenerationRequest& request) const;
  Tensor next_logits();  // (branches of those that are wanted, V)
  int64_t plan(StepRows& step, Running& r, Branch& branch, int64_t room);
  void share_start(Branch& branch);
  bool worth_waiting(const Branch& branch) const;
  GeneratedToken choose(const Running& r, std::span<float> logits) const;
  void forbid(std::span<float> logits) const;
  void add_token(Running& r, GeneratedToken token, const OnToken& on_token);
  void add_to_branch(Running& r, Branch& branch, int32_t id);
  std::vector<float> change_for_search(const Running& r, std::span<float> logits) const;
  void search_on(Running& r, std::span<float> logits);
  GenerationAnswer leave(Running& r);

  const models::Decoder& model_;
  GenerationIds ids_;
  GenerationLimits limits_;
  int64_t context_, computed_ = 0;
  nn::CachePool pool_;
  Prefixes kept_;
  std::vector<Running> running_;
};

}  // namespace heed::decode
