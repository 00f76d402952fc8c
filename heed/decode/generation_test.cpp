// What generating must never depend on: the cache, neighbours in the batch, when a sequence joined, blocks, threads.
#include "heed/decode/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/kernels/top_k.h"

namespace heed::decode {
namespace {

constexpr int32_t kVocabulary = 90;

models::Decoder small_model(nn::PositionKind positions = nn::PositionKind::kRotary, int64_t context = 200) {
  models::ModelConfig config;
  config.family = models::Family::kDecoder;
  config.decoder.layers = 2;
  config.decoder.d_model = 48;
  config.decoder.heads = 4;
  config.decoder.kv_heads = 2;
  config.decoder.d_ff = 64;
  config.decoder.positions.kind = positions;
  config.decoder.positions.max_length = context;
  config.vocabulary = kVocabulary;
  config.tokens = {.start = 1, .eos = 0, .unk = -1, .pad = -1};
  models::Decoder model(config, 5);
  // Sharper than a fresh model, so that texts differ.
  for (int64_t i = 0; i < model.parameters.arena_size(); ++i) model.parameters.values()[i] *= 2.5f;
  return model;
}

std::vector<int32_t> random_ids(Random& random, uint64_t length) {
  std::vector<int32_t> ids;
  for (uint64_t t = 0; t < length; ++t) ids.push_back(3 + static_cast<int32_t>(random.below(kVocabulary - 3)));
  return ids;
}

// Some alike at their start, some the same.
std::vector<GenerationRequest> prompts(int64_t count, const GenerationSettings& settings = {}) {
  Random random(3);
  const std::vector<int32_t> start = random_ids(random, 40);
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < count; ++i) {
    GenerationRequest request{.number = i / 2, .sample = i % 2, .prompt = {1}, .settings = settings};
    if (i % 3 != 0) append(request.prompt, start);
    if (i % 4 != 1) append(request.prompt, random_ids(random, 1 + random.below(30)));
    requests.push_back(request);
  }
  return requests;
}

using Answers = std::map<std::pair<int64_t, int64_t>, GenerationAnswer>;

// `at_once` sequences run together; a new one joins when one leaves.
Answers generate(const models::Decoder& model, const std::vector<GenerationRequest>& requests, int64_t at_once,
                 const GenerationLimits& limits = {}) {
  Generation generation(model, generation_ids(model.config), limits);
  Answers answers;
  size_t next = 0;
  while (next < requests.size() || generation.sequences() > 0) {
    std::vector<GenerationRequest> joining;
    while (next < requests.size() && generation.sequences() + static_cast<int64_t>(joining.size()) < at_once) {
      joining.push_back(requests[next++]);
    }
    generation.join(joining);
    for (GenerationAnswer& answer : generation.step()) answers[{answer.number, answer.sample}] = std::move(answer);
    EXPECT_GE(generation.rows_held(), 0);
  }
  EXPECT_LE(generation.rows_held(), limits.kept_rows);
  return answers;
}

void expect_same(const GeneratedIds& a, const GeneratedIds& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.reason, b.reason);
  ASSERT_EQ(a.tokens.size(), b.tokens.size());
  for (size_t t = 0; t < a.tokens.size(); ++t) {
    EXPECT_EQ(a.tokens[t].chosen.log_prob, b.tokens[t].chosen.log_prob);
    ASSERT_EQ(a.tokens[t].alternatives.size(), b.tokens[t].alternatives.size());
    for (size_t i = 0; i < a.tokens[t].alternatives.size(); ++i) {
      EXPECT_EQ(a.tokens[t].alternatives[i].id, b.tokens[t].alternatives[i].id);
      EXPECT_EQ(a.tokens[t].alternatives[i].log_prob, b.tokens[t].alternatives[i].log_prob);
    }
  }
}

void expect_same(const Answers& a, const Answers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [key, answer] : a) {
    const GenerationAnswer& other = b.at(key);
    ASSERT_EQ(answer.best.size(), other.best.size());
    for (size_t i = 0; i < answer.best.size(); ++i) expect_same(answer.best[i], other.best[i]);
  }
}

// From the whole text at every step: no cache, no batch. A full context forgets its older half behind the start.
GeneratedIds without_cache(const models::Decoder& model, const GenerationRequest& request) {
  const NoGrad no_grad;
  const GenerationSettings& s = request.settings;
  const size_t context = static_cast<size_t>(context_length(model.config));
  GeneratedIds out;
  std::vector<int32_t> window = request.prompt;
  while (true) {
    const int64_t n = static_cast<int64_t>(window.size());
    const Tensor logits = model.logits({window, Spans::dense(1, n)}, {});
    const std::span<float> row(logits.data() + (n - 1) * kVocabulary, kVocabulary);
    std::vector<float> changed(row.begin(), row.end());
    change_logits(changed, s.sampling, {request.prompt, out.ids});
    const SampleKey key{s.sampling.seed, text_key(request.prompt), static_cast<uint32_t>(request.sample),
                        static_cast<uint32_t>(out.ids.size())};
    const int32_t id = sample_token(changed, s.sampling, key).id;
    const float log_prob = log_probability(row, id);
    out.score = out.log_probability += double{log_prob};
    out.reason = StopReason::kEnd;
    if (id == 0) return out;
    out.ids.push_back(id);
    out.tokens.push_back({{id, log_prob}, {}});
    out.reason = StopReason::kLength;
    if (static_cast<int64_t>(out.ids.size()) == s.max_tokens) return out;
    window.push_back(id);
    if (window.size() <= context) continue;
    out.reason = StopReason::kContext;
    if (!s.window) return out;
    window.erase(window.begin() + 1, window.end() - static_cast<int64_t>(context / 2 - 1));
  }
}

TEST(Generation, TheCacheChangesNoBit) {
  for (const auto kind : {nn::PositionKind::kSinusoidal, nn::PositionKind::kRotary, nn::PositionKind::kAlibi,
                          nn::PositionKind::kT5, nn::PositionKind::kLearned, nn::PositionKind::kNone}) {
    const models::Decoder model = small_model(kind, 150);
    for (const double temperature : {0.0, 0.9}) {
      GenerationSettings settings{.sampling = {.temperature = temperature, .top_p = 0.95}, .max_tokens = 120};
      const std::vector<GenerationRequest> requests = prompts(4, settings);
      const Answers cached = generate(model, requests, 3, {.prompt_block = 20});
      for (const GenerationRequest& request : requests) {
        expect_same(cached.at({request.number, request.sample}).best.at(0), without_cache(model, request));
      }
    }
  }
}

TEST(Generation, NeighboursBlocksAndThreadsChangeNoBit) {
  const models::Decoder model = small_model();
  const int before = num_threads();
  const SamplingConfig penalties{.temperature = 0.8,
                                 .top_k = 40,
                                 .min_p = 0.01,
                                 .repetition_penalty = 1.3,
                                 .presence_penalty = 0.5,
                                 .frequency_penalty = 0.2,
                                 .ban = {7},
                                 .bias = {{8, 1.5f}},
                                 .seed = 4};
  for (const GenerationSettings& settings :
       {GenerationSettings{.sampling = {.temperature = 0}, .max_tokens = 30, .alternatives = 3},
        GenerationSettings{.sampling = penalties, .max_tokens = 30},
        GenerationSettings{.max_tokens = 12, .beam = 3, .nbest = 3}}) {
    const std::vector<GenerationRequest> requests = prompts(12, settings);
    const Answers alone = generate(model, requests, 1, {.kept_rows = 0});
    for (const int64_t at_once : {1, 2, 7, 100}) {
      for (const int64_t block : {1, 13, 512}) {
        expect_same(alone, generate(model, requests, at_once, {.prompt_block = block}));
      }
    }
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      expect_same(alone, generate(model, requests, 7));
    }
    set_num_threads(before);
  }
}

TEST(Generation, AStartThatIsKnownIsNotComputedAgain) {
  const models::Decoder model = small_model();
  Random random(9);
  const std::vector<int32_t> start = random_ids(random, 100);
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < 8; ++i) {
    requests.push_back({.number = i, .prompt = start, .settings = {.sampling = {}, .max_tokens = 1}});
    requests.back().prompt.push_back(static_cast<int32_t>(3 + i));
  }
  for (const int64_t at_once : {1, 3, 8}) {
    Generation generation(model, {}, {.prompt_block = 64});
    for (size_t i = 0; i < requests.size(); i += static_cast<size_t>(at_once)) {
      const size_t end = std::min(requests.size(), i + static_cast<size_t>(at_once));
      generation.join({requests.begin() + static_cast<int64_t>(i), requests.begin() + static_cast<int64_t>(end)});
      while (generation.sequences() > 0) generation.step();
    }
    EXPECT_EQ(generation.tokens_computed(), 100 + 8) << at_once;
  }
  Generation forgets(model, {}, {.kept_rows = 0});
  for (int i = 0; i < 2; ++i) {
    forgets.join({requests[0]});
    while (forgets.sequences() > 0) forgets.step();
    EXPECT_EQ(forgets.rows_held(), 0);
  }
  EXPECT_EQ(forgets.tokens_computed(), 2 * 101);
}

TEST(Generation, WhatIsKeptIsBounded) {
  const models::Decoder model = small_model();
  Generation generation(model, {}, {.kept_rows = 150});
  for (const GenerationRequest& request : prompts(20, {.sampling = {}, .max_tokens = 20})) {
    generation.join({request});
    while (generation.sequences() > 0) generation.step();
    EXPECT_LE(generation.rows_held(), 150);
    EXPECT_GT(generation.rows_held(), 0);
  }
}

// A long prompt takes its own steps, while another goes on.
TEST(Generation, ALongPromptDoesNotStallTheOthers) {
  const models::Decoder model = small_model();
  Random random(2);
  GenerationIds ids = generation_ids(model.config);
  ids.ends.clear();
  Generation generation(model, ids, {.prompt_block = 10});
  std::vector<int64_t> told(2);
  const auto count = [&](const GenerationRequest& r, const GeneratedToken&) { return ++told[size_t(r.number)], true; };
  generation.join({{.number = 0, .prompt = {5}, .settings = {.sampling = {}, .max_tokens = 50}},
                   {.number = 1, .prompt = random_ids(random, 100), .settings = {.sampling = {}, .max_tokens = 50}}});
  for (int i = 0; i < 9; ++i) generation.step(count);
  EXPECT_EQ(told, (std::vector<int64_t>{9, 0}));
  generation.step(count);
  EXPECT_EQ(told, (std::vector<int64_t>{10, 1}));
}

TEST(Generation, TheContextEndsATextOrSlides) {
  for (const auto kind : {nn::PositionKind::kLearned, nn::PositionKind::kRotary}) {
    const models::Decoder model = small_model(kind, 32);
    GenerationSettings settings{.sampling = {.temperature = 1.2, .ban = {0}}, .max_tokens = 100};
    GenerationRequest request{.prompt = {1, 5, 6, 7}, .settings = settings};
    const GeneratedIds ended = generate(model, {request}, 1).at({0, 0}).best.at(0);
    EXPECT_EQ(ended.reason, StopReason::kContext);
    EXPECT_EQ(ended.ids.size(), 29u);  // 32 are read, and one more follows
    expect_same(ended, without_cache(model, request));
    request.settings.window = true;
    const GeneratedIds slid = generate(model, {request}, 1, {.prompt_block = 5}).at({0, 0}).best.at(0);
    EXPECT_EQ(slid.reason, StopReason::kLength);
    EXPECT_EQ(slid.ids.size(), 100u);
    expect_same(slid, without_cache(model, request));
    // A prompt over the context: refused, or its end behind the start.
    Random random(1);
    request.prompt = random_ids(random, 50);
    request.prompt[0] = 1;
    request.settings.sampling.temperature = 0;  // draws depend on the prompt as it was given
    GenerationRequest end = request;
    end.prompt.erase(end.prompt.begin() + 1, end.prompt.begin() + 19);
    EXPECT_EQ(generate(model, {request}, 1).at({0, 0}).best.at(0).ids,
              generate(model, {end}, 1).at({0, 0}).best.at(0).ids);
    request.settings.window = false;
    try {
      generate(model, {request}, 1);
      FAIL();
    } catch (const FileError& e) {
      EXPECT_NE(std::string(e.what()).find("has 50 tokens: the context of the model is 32"), std::string::npos);
    }
  }
}

TEST(Generation, ABeamFindsNothingWorseThanGreedy) {
  const models::Decoder model = small_model();
  const std::vector<GenerationRequest> greedy = prompts(10, {.sampling = {.temperature = 0}, .max_tokens = 15}),
                                       wide = prompts(10, {.max_tokens = 15, .beam = 8, .length_penalty = 0});
  double one = 0, eight = 0;
  for (const auto& [key, answer] : generate(model, greedy, 10)) one += answer.best.at(0).log_probability;
  for (const auto& [key, answer] : generate(model, wide, 10)) eight += answer.best.at(0).log_probability;
  EXPECT_GT(eight, one);
}

TEST(Generation, LogProbabilitiesAreTheModelsOwn) {
  const models::Decoder model = small_model();
  const SamplingConfig bent{.temperature = 3, .top_k = 50, .repetition_penalty = 1.5, .ban = {0}};
  const std::vector<GenerationRequest> requests = prompts(4, {.sampling = bent, .max_tokens = 20, .alternatives = 5});
  const NoGrad no_grad;
  for (const auto& [key, answer] : generate(model, requests, 4)) {
    const GeneratedIds& g = answer.best.at(0);
    const auto request = std::find_if(requests.begin(), requests.end(), [k = key](const GenerationRequest& r) {
      return std::pair(r.number, r.sample) == k;
    });
    std::vector<int32_t> whole = request->prompt;
    append(whole, g.ids);
    const Spans spans = Spans::dense(1, static_cast<int64_t>(whole.size()));
    const Tensor log_probs = log_softmax(model.logits({whole, spans}, {}));
    for (size_t t = 0; t < g.ids.size(); ++t) {
      const float* row = log_probs.data() + (request->prompt.size() + t - 1) * kVocabulary;
      EXPECT_NEAR(g.tokens[t].chosen.log_prob, row[g.ids[t]], 1e-5);
      ASSERT_EQ(g.tokens[t].alternatives.size(), 5u);
      EXPECT_EQ(g.tokens[t].alternatives[0].id, std::max_element(row, row + kVocabulary) - row);
      for (const TokenChoice& a : g.tokens[t].alternatives) EXPECT_NEAR(a.log_prob, row[a.id], 1e-5);
    }
  }
}

TEST(Generation, WithoutNumbersEverySequenceHasAnAnswer) {
  const models::Decoder model = small_model();
  model.parameters.values()[model.parameters.arena_size() - 1] = std::numeric_limits<float>::quiet_NaN();
  for (const GenerationSettings& settings : {GenerationSettings{}, GenerationSettings{.beam = 3}}) {
    const Answers answers = generate(model, prompts(4, settings), 3);
    ASSERT_EQ(answers.size(), 4u);
    for (const auto& [key, answer] : answers) EXPECT_EQ(answer.best.at(0).reason, StopReason::kNoNumber);
  }
}

TEST(Generation, RefusesWhatMakesNoSense) {
  const models::Decoder model = small_model();
  const auto refused = [&](GenerationRequest request) {
    Generation generation(model, {});
    EXPECT_THROW(generation.join({std::move(request)}), Error);
  };
  refused({.prompt = {}});
  refused({.prompt = {kVocabulary}});
  refused({.prompt = {-1}});
  refused({.prompt = {3}, .settings = {.sampling = {.temperature = -1}}});
  refused({.prompt = {3}, .settings = {.sampling = {.top_p = 2}}});
  refused({.prompt = {3}, .settings = {.sampling = {.min_p = -0.1}}});
  refused({.prompt = {3}, .settings = {.sampling = {.repetition_penalty = 0}}});
  refused({.prompt = {3}, .settings = {.sampling = {.ban = {kVocabulary}}}});
  refused({.prompt = {3}, .settings = {.sampling = {.bias = {{-1, 1.0f}}}}});
  refused({.prompt = {3}, .settings = {.max_tokens = 0}});
  refused({.prompt = {3}, .settings = {.beam = 2, .window = true}});
  EXPECT_THROW(Generation(model, {}, {.prompt_block = 0}), Error);
}

}  // namespace
}  // namespace heed::decode
