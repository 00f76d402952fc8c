// What decoding must never depend on: the cache, neighbours in the batch, when a sentence joined, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/decode/stream.h"
#include "heed/kernels/top_k.h"

namespace heed::decode {
namespace {

constexpr int32_t kVocabulary = 90;

models::EncoderDecoder small_model(nn::PositionKind positions = nn::PositionKind::kSinusoidal) {
  models::ModelConfig config;
  config.encoder.layers = 2;
  config.encoder.d_model = 48;
  config.encoder.heads = 4;
  config.encoder.d_ff = 64;
  config.encoder.positions.kind = positions;
  config.decoder = config.encoder;
  config.vocabulary = config.source_vocabulary = kVocabulary;
  models::EncoderDecoder model(config, 5);
  // Sharper than a fresh model, so that hypotheses differ.
  for (int64_t i = 0; i < model.parameters.arena_size(); ++i) model.parameters.values()[i] *= 2.5f;
  return model;
}

std::vector<Request> sentences(int64_t count, uint64_t seed = 3) {
  Random random(seed);
  std::vector<Request> requests;
  for (int64_t i = 0; i < count; ++i) {
    Request request{.number = i, .source = {}};
    const uint64_t length = 1 + random.below(12);
    for (uint64_t t = 0; t < length; ++t)
      request.source.push_back(3 + static_cast<int32_t>(random.below(kVocabulary - 3)));
    request.source.push_back(0);
    requests.push_back(request);
  }
  return requests;
}

using Answers = std::map<std::pair<int64_t, int64_t>, std::vector<Hypothesis>>;

// `at_once` sentences run together; a new one joins when one leaves.
Answers translate(const models::EncoderDecoder& model, const SearchConfig& config, const std::vector<Request>& requests,
                  int64_t at_once) {
  Translation translation(model, config);
  Answers answers;
  size_t next = 0;
  while (next < requests.size() || translation.sentences() > 0) {
    std::vector<Request> joining;
    while (next < requests.size() && translation.sentences() + static_cast<int64_t>(joining.size()) < at_once) {
      joining.push_back(requests[next++]);
    }
    translation.join(joining);
    for (Answer& answer : translation.step()) answers[{answer.number, answer.sample}] = std::move(answer.best);
  }
  return answers;
}

void expect_same(const Answers& a, const Answers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [key, best] : a) {
    const std::vector<Hypothesis>& other = b.at(key);
    ASSERT_EQ(best.size(), other.size());
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].ids, other[i].ids);
      EXPECT_EQ(best[i].log_probability, other[i].log_probability);
      EXPECT_EQ(best[i].score, other[i].score);
    }
  }
}

// Greedy from the whole prefix at every step: no cache, no batch.
Hypothesis greedy_without_cache(const models::EncoderDecoder& model, const Request& request, int64_t limit) {
  const NoGrad no_grad;
  Hypothesis h;
  std::vector<int32_t> prefix{2};
  while (static_cast<int64_t>(h.ids.size()) < limit) {
    const int64_t n = static_cast<int64_t>(prefix.size());
    const models::PairBatch batch{{request.source, Spans::dense(1, static_cast<int64_t>(request.source.size()))},
                                  {prefix, Spans::dense(1, n)},
                                  {}};
    const Tensor logits = model.logits(batch, {});
    float* row = logits.data() + (n - 1) * kVocabulary;
    row[1] = row[2] = -std::numeric_limits<float>::infinity();
    int32_t id = 0;
    float log_prob = 0;
    kernels::top_k({1, kVocabulary, 1, row, &id, &log_prob});
    h.log_probability += double{log_prob};
    if (id == 0) {
      h.ended = true;
      break;
    }
    h.ids.push_back(id);
    prefix.push_back(id);
  }
  return h;
}

TEST(Translation, TheCacheChangesNoBit) {
  for (const auto kind : {nn::PositionKind::kSinusoidal, nn::PositionKind::kRotary, nn::PositionKind::kAlibi,
                          nn::PositionKind::kT5, nn::PositionKind::kLearned, nn::PositionKind::kNone}) {
    const models::EncoderDecoder model = small_model(kind);
    const std::vector<Request> requests = sentences(3);
    const Answers cached = translate(model, {.beam = 1, .max_length = 150}, requests, 4);
    for (const Request& request : requests) {
      const Hypothesis whole = greedy_without_cache(model, request, 150);
      const Hypothesis& h = cached.at({request.number, 0}).at(0);
      EXPECT_EQ(h.ids, whole.ids);
      EXPECT_EQ(h.log_probability, whole.log_probability);
      EXPECT_EQ(h.ended, whole.ended);
    }
  }
}

TEST(Translation, NeighboursAndThreadsChangeNoBit) {
  const models::EncoderDecoder model = small_model();
  const std::vector<Request> requests = sentences(15);
  const int before = num_threads();
  for (const SearchConfig& config :
       {SearchConfig{.beam = 1}, SearchConfig{.beam = 4, .nbest = 4},
        SearchConfig{.beam = 1, .sample = true, .sampling = {.temperature = 0.8, .top_p = 0.9, .seed = 4}}}) {
    const Answers alone = translate(model, config, requests, 1);
    for (const int64_t at_once : {2, 7, 100}) expect_same(alone, translate(model, config, requests, at_once));
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      expect_same(alone, translate(model, config, requests, 7));
    }
    set_num_threads(before);
  }
}

TEST(Translation, AStreamAnswersInOrderWhateverTheBatch) {
  const models::EncoderDecoder model = small_model();
  std::vector<Request> requests = sentences(25);
  requests[3].source.clear();  // an empty line
  const auto by = [&](int64_t batch_tokens, int64_t window) {
    return translate_all(model, {{.beam = 2}, batch_tokens, window}, requests);
  };
  const std::vector<Answer> whole = by(1 << 20, 1000);
  ASSERT_EQ(whole.size(), requests.size());
  EXPECT_TRUE(whole[3].best[0].ids.empty());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i].number, requests[i].number);
  for (const std::vector<Answer>& other : {by(1, 1), by(60, 5), by(200, 1000)}) {
    ASSERT_EQ(other.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(other[i].best[0].ids, whole[i].best[0].ids);
      EXPECT_EQ(other[i].best[0].log_probability, whole[i].best[0].log_probability);
    }
  }
}

TEST(Translation, AWiderBeamFindsNothingWorse) {
  const models::EncoderDecoder model = small_model();
  const std::vector<Request> requests = sentences(20);
  const SearchConfig greedy{.beam = 1, .length_penalty = 0}, wide{.beam = 8, .nbest = 8, .length_penalty = 0};
  const Answers one = translate(model, greedy, requests, 20), eight = translate(model, wide, requests, 20);
  double sum_one = 0, sum_eight = 0;
  for (const auto& [key, best] : eight) {
    EXPECT_TRUE(std::is_sorted(best.begin(), best.end(), [](const auto& a, const auto& b) {
      return std::pair(a.ended, a.score) > std::pair(b.ended, b.score);
    }));
    sum_eight += best[0].log_probability, sum_one += one.at(key)[0].log_probability;
  }
  EXPECT_GT(sum_eight, sum_one);
}

TEST(Translation, ScoresAreTheModelsOwn) {
  const models::EncoderDecoder model = small_model();
  const std::vector<Request> requests = sentences(5);
  const NoGrad no_grad;
  for (const auto& [key, best] : translate(model, {.beam = 3, .nbest = 3, .length_penalty = 0.6}, requests, 5)) {
    for (const Hypothesis& h : best) {
      if (!h.ended) continue;
      const Request& request = requests[static_cast<size_t>(key.first)];
      models::PairBatch batch{
          {request.source, Spans::dense(1, static_cast<int64_t>(request.source.size()))}, {}, h.ids};
      batch.labels.push_back(0);
      batch.target.ids.push_back(2);
      batch.target.ids.insert(batch.target.ids.end(), h.ids.begin(), h.ids.end());
      batch.target.spans = Spans::dense(1, static_cast<int64_t>(batch.target.ids.size()));
      const Tensor logits = model.logits(batch, {});
      double log_probability = 0;
      for (int64_t t = 0; t < logits.rows(); ++t) {
        float* row = logits.data() + t * kVocabulary;
        row[1] = row[2] = -std::numeric_limits<float>::infinity();
        const Tensor log_probs = log_softmax(Tensor::from({row, kVocabulary}, {kVocabulary}));
        log_probability += double{log_probs.data()[batch.labels[static_cast<size_t>(t)]]};
      }
      EXPECT_NEAR(h.log_probability, log_probability, 1e-5 * std::abs(log_probability));
      EXPECT_NEAR(h.score, h.log_probability / std::pow(static_cast<double>(batch.labels.size()), 0.6), 1e-12);
    }
  }
}

TEST(Translation, APrefixIsWhatTheAnswerStartsWith) {
  const models::EncoderDecoder model = small_model();
  Request request = sentences(1)[0];
  const Hypothesis free = translate(model, {.beam = 1}, {request}, 1).at({0, 0}).at(0);
  ASSERT_GE(free.ids.size(), 3u);
  // The start of its own answer changes nothing about the rest, which may be as long as without it.
  request.prefix = {free.ids[0], free.ids[1]};
  std::vector<int32_t> same = translate(model, {.beam = 1}, {request}, 1).at({0, 0}).at(0).ids;
  ASSERT_EQ(same.size(), free.ids.size() + (free.ended ? 0 : 2));
  same.resize(free.ids.size());
  EXPECT_EQ(same, free.ids);
  request.prefix = {7, 8, 9};
  const Hypothesis led = translate(model, {.beam = 3}, {request}, 1).at({0, 0}).at(0);
  EXPECT_TRUE(std::equal(request.prefix.begin(), request.prefix.end(), led.ids.begin()));
}

// However long what is given, as much is said behind it as is allowed.
TEST(Translation, APrefixTakesNothingFromTheLengthOfTheAnswer) {
  const models::EncoderDecoder model = small_model();
  Request request{.number = 0, .source = {5, 0}};
  request.prefix = std::vector<int32_t>(60, 7);
  const auto said = [&](const SearchConfig& config) {
    return translate(model, config, {request}, 1).at({0, 0}).at(0).ids.size() - request.prefix.size();
  };
  // Nothing ends: the end is as unlikely as anything.
  EXPECT_EQ(said({.beam = 1, .sample = true, .sampling = {.temperature = 1e6, .seed = 3}}), 36u);
  EXPECT_EQ(said({.beam = 1, .max_length = 9, .sample = true, .sampling = {.temperature = 1e6, .seed = 3}}), 9u);
}

TEST(Translation, ForbiddenTokensAreNeverSaid) {
  const models::EncoderDecoder model = small_model();
  const SearchConfig config{.beam = 1, .sample = true, .sampling = {.temperature = 5}};
  for (const auto& [key, best] : translate(model, config, sentences(30), 30)) {
    for (const int32_t id : best.at(0).ids) EXPECT_TRUE(id != 0 && id != 1 && id != 2);
  }
}

TEST(Translation, IdsThatAreForbiddenInAStreamAreNeverSaid) {
  const models::EncoderDecoder model = small_model();
  StreamConfig config{.search = {.beam = 1, .sample = true, .sampling = {.temperature = 5}}};
  for (int32_t id = kVocabulary - 40; id < kVocabulary; ++id) config.never.push_back(id);
  for (const Answer& answer : translate_all(model, config, sentences(30))) {
    for (const int32_t id : answer.best.at(0).ids) EXPECT_LT(id, kVocabulary - 40);
  }
}

TEST(Translation, ALearnedTableBoundsTheAnswer) {
  models::ModelConfig config = small_model(nn::PositionKind::kLearned).config;
  config.encoder.positions.max_length = config.decoder.positions.max_length = 16;
  const models::EncoderDecoder model(config, 5);
  std::vector<Request> requests = sentences(10);
  requests[1].prefix = {7, 8, 9};
  bool reached = false;
  for (const SearchConfig& search : {SearchConfig{.beam = 1}, SearchConfig{.beam = 3, .nbest = 3, .max_length = 40}}) {
    for (const auto& [key, best] : translate(model, search, requests, 4)) {
      for (const Hypothesis& h : best) {
        EXPECT_LE(h.ids.size(), 16u);
        reached = reached || (!h.ended && h.ids.size() == 16);
      }
    }
  }
  EXPECT_TRUE(reached);
}

// Logits that are no numbers: an answer comes all the same, unended.
TEST(Translation, WithoutNumbersEverySentenceHasAnAnswer) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const models::EncoderDecoder model = small_model();
    model.parameters.values()[model.parameters.arena_size() - 1] = bad;  // the bias of the decoder's last norm
    for (const SearchConfig& config :
         {SearchConfig{.beam = 1}, SearchConfig{.beam = 4, .nbest = 2}, SearchConfig{.beam = 1, .sample = true}}) {
      const Answers answers = translate(model, config, sentences(6), 3);
      ASSERT_EQ(answers.size(), 6u);
      for (const auto& [key, best] : answers) {
        ASSERT_FALSE(best.empty());
        EXPECT_FALSE(best[0].ended);
        EXPECT_EQ(best[0].score, -std::numeric_limits<double>::infinity());
      }
    }
  }
}

TEST(BeamSearch, OneHypothesisWithoutNumbersLeavesTheOthers) {
  BeamSearch search({.beam = 2, .nbest = 2}, 10, {0});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int32_t> first{5, 6}, second{7, 8, 3, 4};
  const std::vector<float> p{-0.5f, -1.0f}, q{nan, nan, -1.0f, -2.0f};
  ASSERT_EQ(search.advance(std::vector{Candidates{first, p}}).size(), 2u);
  const std::span ids(second);
  const std::span numbers(q);
  const std::vector<Continuation> next = search.advance(std::vector{
      Candidates{ids.subspan(0, 2), numbers.subspan(0, 2)}, Candidates{ids.subspan(2), numbers.subspan(2)}});
  ASSERT_EQ(next.size(), 2u);
  EXPECT_TRUE(next[0].parent == 1 && next[0].token == 3 && next[1].parent == 1 && next[1].token == 4);
  EXPECT_FALSE(search.done());
}

TEST(Translation, RefusesWhatMakesNoSense) {
  const models::EncoderDecoder model = small_model();
  EXPECT_THROW(Translation(model, {.beam = 0}), Error);
  EXPECT_THROW(Translation(model, {.beam = 2, .nbest = 3}), Error);
  EXPECT_THROW(Translation(model, {.sampling = {.temperature = -1}}), Error);
  EXPECT_THROW(Translation(model, {.length_penalty = -1}), Error);
  EXPECT_THROW(Translation(model, {}).join({{.number = 4, .source = {}}}), Error);
}

}  // namespace
}  // namespace heed::decode
