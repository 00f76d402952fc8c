// What must hold of any model, whatever its numbers: causality, batches that do not matter, order, silence.
#include <array>
#include <thread>
#include <utility>

#include "heed/base/threads.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/tensor/testing.h"

namespace heed::models {
namespace {

using heed::testing::expect_same_bits;
using heed::testing::expect_values;
using heed::testing::message_of;
using nn::PositionKind;

constexpr int64_t kVocabulary = 40;

nn::StackConfig small_stack(PositionKind kind) {
  nn::StackConfig s;
  s.layers = 2;
  s.d_model = 32;
  s.heads = 4;
  s.d_ff = 64;
  s.positions.kind = kind;
  s.activation = Activation::kGelu;
  return s;
}

ModelConfig small_model(PositionKind kind) {
  ModelConfig config;
  config.encoder = config.decoder = small_stack(kind);
  config.vocabulary = config.source_vocabulary = kVocabulary;
  return config;
}

std::vector<int32_t> random_ids(int64_t n, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(random.below(kVocabulary)));
  return ids;
}

TokenBatch random_batch(const std::vector<int64_t>& lengths, uint64_t seed, uint32_t first_id = 0) {
  const Spans spans(lengths, first_id);
  return {random_ids(spans.tokens(), seed), spans};
}

// One sequence of a batch as a batch of its own, with the number it has there.
TokenBatch only(const TokenBatch& batch, int64_t s) {
  const int32_t *from = batch.spans.offsets() + s, *to = from + 1;
  const std::vector<int64_t> length{*to - *from};
  return {{batch.ids.begin() + *from, batch.ids.begin() + *to}, Spans(length, batch.spans.ids()[s])};
}

Tensor rows(const Tensor& x, int64_t begin, int64_t end) {
  std::vector<int32_t> all;
  for (int64_t i = begin; i < end; ++i) all.push_back(static_cast<int32_t>(i));
  const NoGrad no_grad;
  return select_rows(x, all);
}

Tensor rows(const Tensor& x, const Spans& spans, int64_t s) {
  return rows(x, spans.offsets()[s], spans.offsets()[s + 1]);
}

class EveryPosition : public ::testing::TestWithParam<PositionKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryPosition,
                         ::testing::Values(PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned,
                                           PositionKind::kRotary, PositionKind::kAlibi, PositionKind::kT5),
                         [](const auto& kind) { return nn::name_of(kind.param); });

TEST_P(EveryPosition, TheFutureIsNotSeen) {
  ModelConfig config = small_model(GetParam());
  config.family = Family::kDecoder;
  const Decoder model(config);
  TokenBatch batch = random_batch({90}, 1);
  const Tensor before = model.logits(batch, {});
  for (const int64_t changed : {89, 70, 1}) {
    TokenBatch other = batch;
    other.ids[static_cast<size_t>(changed)] = (batch.ids[static_cast<size_t>(changed)] + 1) % kVocabulary;
    const Tensor after = model.logits(other, {});
    expect_same_bits(rows(after, 0, changed), rows(before, 0, changed));
    EXPECT_NE(rows(after, changed, 90).to_vector(), rows(before, changed, 90).to_vector());
  }
}

// Long and short together, so that products and attention take other paths than for one sentence alone.
TEST_P(EveryPosition, ASentenceIsTheSameInAnyBatch) {
  const ThreadsScope one_thread(1);  // many small steps
  ModelConfig config = small_model(GetParam());
  const EncoderDecoder translator(config);
  PairBatch pair{random_batch({5, 300, 1, 130}, 2), random_batch({7, 110, 40, 1}, 3), {}};
  const Tensor hidden = translator.hidden(pair, {}), logits = translator.logits(pair, {});
  for (int64_t s = 0; s < 4; ++s) {
    const PairBatch alone{only(pair.source, s), only(pair.target, s), {}};
    expect_same_bits(translator.hidden(alone, {}), rows(hidden, pair.target.spans, s));
    expect_same_bits(translator.logits(alone, {}), rows(logits, pair.target.spans, s));
  }
  config.family = Family::kDecoder;
  const Decoder decoder(config);
  const Tensor all = decoder.logits(pair.source, {});
  for (int64_t s = 0; s < 4; ++s)
    expect_same_bits(decoder.logits(only(pair.source, s), {}), rows(all, pair.source.spans, s));
}

// Activation checkpointing: blocks that are computed twice give the loss and every gradient to the bit.
TEST_P(EveryPosition, RecomputedBlocksGiveTheSameBits) {
  const ThreadsScope one_thread(1);  // many small steps
  ModelConfig config = small_model(GetParam());
  config.encoder.dropout = config.decoder.dropout = {0.2f, 0.2f, 0.2f, 0.2f};
  const PairBatch pair{random_batch({5, 60, 1, 20}, 4), random_batch({7, 33, 40, 1}, 5), random_ids(81, 6)};
  const auto gradients = [&](const auto& model, bool recompute, const auto& loss) {
    const nn::Context context{.training = true, .seed = 5, .step = 9, .recompute = recompute};
    const LossResult result = loss(model, context);
    result.loss.backward();
    std::vector<Tensor> all{result.loss.detach()};
    for (const nn::Parameter& p : model.parameters.list()) {
      all.push_back(Tensor::from(p.tensor.grad().to_vector(), p.tensor.shape()));
      Tensor(p.tensor).clear_grad();
    }
    return all;
  };
  const auto compare = [&](const auto& model, const auto& loss) {
    const std::vector<Tensor> kept = gradients(model, false, loss), again = gradients(model, true, loss);
    ASSERT_EQ(kept.size(), again.size());
    for (size_t i = 0; i < kept.size(); ++i) expect_same_bits(again[i], kept[i]);
  };
  compare(EncoderDecoder(config),
          [&](const EncoderDecoder& m, const nn::Context& c) { return m.loss(pair, {.smoothing = 0.1f}, c); });
  config.family = Family::kDecoder;
  compare(Decoder(config),
          [&](const Decoder& m, const nn::Context& c) { return m.loss(pair.target, pair.labels, {}, c); });
}

TEST(Properties, DropoutFollowsTheSequenceNotTheBatch) {
  ModelConfig config = small_model(PositionKind::kSinusoidal);
  config.encoder.dropout = config.decoder.dropout = {0.2f, 0.2f, 0.2f, 0.2f};
  const EncoderDecoder model(config);
  nn::Context context;
  context.training = true;
  context.seed = 5, context.step = 9;
  const PairBatch pair{random_batch({5, 60, 1, 20}, 4, 100), random_batch({7, 33, 40, 1}, 5, 100), {}};
  const Tensor hidden = model.hidden(pair, context);
  for (int64_t s = 0; s < 4; ++s) {
    const PairBatch alone{only(pair.source, s), only(pair.target, s), {}};
    expect_same_bits(model.hidden(alone, context), rows(hidden, pair.target.spans, s));
  }
  expect_same_bits(model.hidden(pair, context), hidden);
  EXPECT_NE(model.hidden(pair, {}).to_vector(), hidden.to_vector());
  context.step = 10;
  EXPECT_NE(model.hidden(pair, context).to_vector(), hidden.to_vector());
}

// The table that both share is read with the dropout of whoever reads it.
TEST(Properties, TheSourceHasTheDropoutOfTheEncoder) {
  ModelConfig config = small_model(PositionKind::kSinusoidal);
  config.encoder.dropout.embedding = 0.2f;
  const EncoderDecoder model(config);
  const nn::Context context{.training = true, .seed = 5, .step = 9};
  const PairBatch pair{random_batch({5, 9}, 4), random_batch({7, 3}, 5), {}};
  EXPECT_NE(model.encode(pair.source, context).to_vector(), model.encode(pair.source, {}).to_vector());
  const auto embedded = [&](const nn::Context& c) {
    return model.target_embedding(pair.target, model.decoder.positions, c, 1);
  };
  expect_same_bits(embedded(context), embedded({}));
}

TEST(Properties, AnOutputOfItsOwnStartsWithTheAskedDeviation) {
  ModelConfig config = small_model(PositionKind::kSinusoidal);
  config.tie_embeddings = false;
  config.decoder.init_deviation = 0.001f;
  const EncoderDecoder model(config);
  double squares = 0;
  for (const float w : model.output.weight.to_vector()) squares += double{w} * w;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(model.output.weight.numel())), 0.001, 0.0002);
}

TEST(Properties, WrongBatchesAreOneLine) {
  for (const PositionKind kind : {PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned}) {
    ModelConfig config = small_model(kind);
    config.family = Family::kDecoder;
    const Decoder model(config);
    for (const int64_t tokens : {5, 7}) {
      EXPECT_EQ(message_of([&] {
                  model.logits({{1, 2, 3, 4, 5, 6}, Spans::dense(1, tokens)}, {});
                }),
                "[embedding] 6 ids for spans of " + std::to_string(tokens) + " tokens");
    }
  }
  EXPECT_EQ(message_of([] { image_batch({}, {}, preset("base")); }),
            "[images] a model of images of 0 in patches of 0: expected both above 0");
}

TEST(Properties, WithoutPositionsTheOrderDoesNotMatter) {
  for (const PositionKind kind : {PositionKind::kNone, PositionKind::kRotary}) {
    ModelConfig config = small_model(kind);
    config.family = Family::kEncoder;
    const Encoder model(config);
    const TokenBatch batch = random_batch({11}, 6);
    std::vector<int32_t> order{3, 0, 10, 7, 1, 9, 2, 8, 4, 6, 5};
    TokenBatch mixed = batch;
    for (size_t i = 0; i < order.size(); ++i) mixed.ids[i] = batch.ids[static_cast<size_t>(order[i])];
    const NoGrad no_grad;
    const std::vector<float> expected = select_rows(model.hidden(batch, {}), order).to_vector();
    const Tensor found = model.hidden(mixed, {});
    if (kind == PositionKind::kNone) {
      expect_values(found, expected, 2e-5f);
    } else {
      EXPECT_GT(std::abs(found.to_vector()[0] - expected[0]), 1e-4f);
    }
  }
}

TEST(Properties, AnEmptySourceIsNothingToAttendTo) {
  const EncoderDecoder model(small_model(PositionKind::kSinusoidal));
  PairBatch pair{random_batch({0, 4}, 7), random_batch({3, 2}, 8), {1, 2, 3, 4, 5}};
  const LossResult r = model.loss(pair, {}, {});
  r.loss.backward();
  EXPECT_TRUE(std::isfinite(r.loss.item()));
  for (const nn::Parameter& p : model.parameters.list()) {
    for (const float x : p.tensor.grad().to_vector()) ASSERT_TRUE(std::isfinite(x)) << p.name;
  }
  // Keys and values of a memory that nobody has get no gradient at all.
  pair = {random_batch({0, 0}, 7), random_batch({3, 2}, 8), {1, 2, 3, 4, 5}};
  model.parameters.clear_gradients();
  model.loss(pair, {}, {}).loss.backward();
  const Tensor d = model.parameters["decoder.layers.0.cross_attn.v_proj.weight"].grad();
  for (const float x : d.to_vector()) ASSERT_EQ(x, 0);
}

// A server reads one model from several threads.
TEST_P(EveryPosition, OneModelServesTwoThreads) {
  ModelConfig config = small_model(GetParam());
  config.family = Family::kDecoder;
  const Decoder model(config);
  const TokenBatch batch = random_batch({40, 7}, 1);
  std::array<std::vector<float>, 2> found;
  {
    std::vector<std::jthread> threads;
    threads.reserve(found.size());
    for (std::vector<float>& values : found) {
      threads.emplace_back([&] {
        const NoGrad no_grad;
        for (int i = 0; i < 3; ++i) values = model.logits(batch, {}).to_vector();
      });
    }
  }
  const std::vector<float> expected = model.logits(batch, {}).to_vector();
  for (const std::vector<float>& values : found) EXPECT_EQ(values, expected);
}

// A batch may be gone by the time of the backward.
TEST(Properties, ALossOfATemporaryBatch) {
  const EncoderDecoder model(small_model(PositionKind::kLearned), 2);
  const auto batch = [] { return PairBatch{random_batch({5, 9}, 4), random_batch({7, 3}, 5), random_ids(10, 6)}; };
  const auto gradients = [&](const LossResult& loss) {
    loss.loss.backward();
    std::vector<std::vector<float>> all;
    for (const nn::Parameter& p : model.parameters.list()) {
      all.push_back(p.tensor.grad().to_vector());
      Tensor(p.tensor).clear_grad();
    }
    return all;
  };
  const PairBatch stays = batch();
  EXPECT_EQ(gradients(model.loss(batch(), {}, {})), gradients(model.loss(stays, {}, {})));
}

TEST(Properties, ASilencedHeadIsAHeadOfZeros) {
  ModelConfig config = small_model(PositionKind::kSinusoidal);
  config.family = Family::kEncoder;
  Encoder silenced(config, 3);
  const Encoder zeroed(config, 3), whole(config, 3);
  silenced.stack.blocks[1].self_attn.gains = {1, 0, 1, 1};
  const Tensor w = zeroed.parameters["encoder.layers.1.self_attn.out_proj.weight"];  // (C, H D): columns of head 1
  for (int64_t r = 0; r < 32; ++r) std::fill_n(w.data() + r * 32 + 8, 8, 0.0f);
  const TokenBatch batch = random_batch({6, 9}, 9);
  expect_values(silenced.hidden(batch, {}), zeroed.hidden(batch, {}).to_vector());
  EXPECT_NE(silenced.hidden(batch, {}).to_vector(), whole.hidden(batch, {}).to_vector());
  silenced.stack.blocks[1].self_attn.gains = {1, 1, 1, 1};
  expect_same_bits(silenced.hidden(batch, {}), whole.hidden(batch, {}));
  silenced.stack.blocks[1].self_attn.gains = {0, 1};  // of halves of the heads
  EXPECT_EQ(message_of([&] { silenced.hidden(batch, {}); }), "[attention] 2 gains: expected 4, one a head");
}

TEST(Properties, TheEmbeddingIsScaledByTheRootOfItsSize) {
  ModelConfig config = small_model(PositionKind::kNone);
  config.family = Family::kEncoder;
  config.encoder.layers = 0;
  config.encoder.final_norm = false;
  const Encoder model(config);
  const TokenBatch batch{{7}, Spans::dense(1, 1)};
  expect_values(model.hidden(batch, {}),
                rows(scale(model.token_embedding.table.detach(), std::sqrt(32.0f)), 7, 8).to_vector(), 1e-6f);
}

}  // namespace
}  // namespace heed::models
