// Whole training steps: the same bits at any number of threads, nothing from the system, and every part may be missing.
#include <cmath>
#include <cstdlib>

#include "heed/kernels/optimizer.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/tensor/testing.h"
#include "heed/train/optimizer.h"

namespace heed::train {

int64_t blocks_taken_so_far();  // counted_memory_test.cpp

namespace {

using models::Decoder;
using models::Encoder;
using models::EncoderDecoder;
using models::ModelConfig;
using nn::PositionKind;

constexpr int64_t kVocabulary = 150;

std::vector<int32_t> random_ids(int64_t n, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(random.below(kVocabulary)));
  return ids;
}

ModelConfig small_model(PositionKind kind, float dropout) {
  ModelConfig config;
  nn::StackConfig s;
  s.layers = 2;
  s.d_model = 64;
  s.heads = 4;
  s.d_ff = 128;
  s.positions.kind = kind;
  s.dropout = {dropout, dropout, dropout, dropout};
  config.encoder = config.decoder = s;
  config.vocabulary = config.source_vocabulary = kVocabulary;
  return config;
}

models::PairBatch pair_batch(uint64_t seed, const std::vector<int64_t>& source = {40, 3, 100, 17},
                             const std::vector<int64_t>& target = {50, 90, 1, 30}) {
  const Spans s(source), t(target);
  return {{random_ids(s.tokens(), seed), s}, {random_ids(t.tokens(), seed + 1), t}, random_ids(t.tokens(), seed + 2)};
}

// A batch, a model and what one step of its training is.
struct Translator {
  EncoderDecoder model;
  models::PairBatch batch = pair_batch(1);
  explicit Translator(const ModelConfig& config, uint64_t seed = 1) : model(config, seed) {}
  LossResult loss(const nn::Context& context) const { return model.loss(batch, {.smoothing = 0.1f}, context); }
};

struct LanguageModel {
  Decoder model;
  models::TokenBatch batch;
  std::vector<int32_t> labels;
  static ModelConfig decoder(ModelConfig config) {
    config.family = models::Family::kDecoder;
    return config;
  }
  explicit LanguageModel(const ModelConfig& config, uint64_t seed = 1)
      : model(decoder(config), seed), batch{random_ids(120, 5), Spans::dense(3, 40)}, labels(random_ids(120, 6)) {}
  LossResult loss(const nn::Context& context) const { return model.loss(batch, labels, {}, context); }
};

struct ImageClassifier {
  Encoder model;
  models::ImageBatch batch;
  explicit ImageClassifier(const ModelConfig& config) : model(config) {
    const Tensor pixels = testing::random_tensor({4 * config.image_size * config.image_size}, 7);
    const std::vector<int32_t> labels{1, 2, 3, 4};
    batch = models::image_batch({pixels.data(), static_cast<size_t>(pixels.numel())}, labels, config);
  }
  LossResult loss(const nn::Context& context) const { return model.loss(batch, {}, context); }
};

nn::Context training(uint64_t step) {
  nn::Context context;
  context.training = true;
  context.seed = 11, context.step = step;
  return context;
}

template <class Job>
float train_step(const Job& job, Optimizer& optimizer, uint64_t step) {
  const LossResult r = job.loss(training(step));
  r.loss.backward();
  optimizer.step(1e-3);
  return r.loss.item();
}

template <class Job>
std::vector<float> train(const Job& job, int steps, const OptimizerConfig& config = {}) {
  Optimizer optimizer(job.model.parameters, config);
  std::vector<float> losses;
  losses.reserve(static_cast<size_t>(steps));
  for (int i = 0; i < steps; ++i) losses.push_back(train_step(job, optimizer, static_cast<uint64_t>(i)));
  return losses;
}

Tensor arena(const nn::Parameters& p, const float* values) {
  return Tensor::from(std::span<const float>(values, static_cast<size_t>(p.arena_size())), {p.arena_size()});
}

template <class Job>
void expect_same_at_any_number_of_threads(const ModelConfig& config) {
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ThreadsScope scope(threads);
    const Job job(config);
    std::vector<Tensor> found;
    const LossResult r = job.loss(training(3));
    r.loss.backward();
    job.model.parameters.finish_gradients();
    found.push_back(r.loss.detach());
    found.push_back(arena(job.model.parameters, job.model.parameters.gradients()));
    job.model.parameters.clear_gradients();
    const std::vector<float> losses = train(job, 5, {.clip_norm = 1});
    found.push_back(Tensor::from(losses, {5}));
    found.push_back(arena(job.model.parameters, job.model.parameters.values()));
    if (threads == 1) first = found;
    for (size_t i = 0; i < found.size(); ++i) testing::expect_same_bits(found[i], first[i]);
  }
}

TEST(Training, TheSameBitsAtAnyNumberOfThreads) {
  const auto one_layer = [](PositionKind kind) {
    ModelConfig config = small_model(kind, 0.1f);
    config.encoder.layers = config.decoder.layers = 1;
    return config;
  };
  expect_same_at_any_number_of_threads<Translator>(one_layer(PositionKind::kSinusoidal));
  ModelConfig llama = one_layer(PositionKind::kRotary);
  llama.decoder.norm = nn::NormKind::kRms;
  llama.decoder.gated = true;
  llama.decoder.activation = Activation::kSilu;
  llama.decoder.kv_heads = 2;
  expect_same_at_any_number_of_threads<LanguageModel>(llama);
  expect_same_at_any_number_of_threads<LanguageModel>(one_layer(PositionKind::kT5));
  ModelConfig images = models::preset("vit");
  images.encoder.layers = 1;
  expect_same_at_any_number_of_threads<ImageClassifier>(images);
}

TEST(Training, TheSameBitsAtAnyNumberOfThreadsInBf16) {
  const PrecisionScope bf16(Precision::kBf16);
  ModelConfig config = small_model(PositionKind::kSinusoidal, 0.1f);
  config.encoder.layers = config.decoder.layers = 1;
  expect_same_at_any_number_of_threads<Translator>(config);
  config.decoder.gated = true;
  expect_same_at_any_number_of_threads<LanguageModel>(config);
}

// After the first step a step takes nothing from the system, neither through the pool nor past it.
template <class Job>
void expect_no_allocation(const Job& job) {
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    const ThreadsScope scope(threads);
    release_unused();
    Optimizer optimizer(job.model.parameters, {.clip_norm = 1});
    train_step(job, optimizer, 1);
    const int64_t pool = pool_stats().system_allocations, blocks = blocks_taken_so_far();
    float loss = 0;
    for (uint64_t step = 2; step <= 4; ++step) loss = train_step(job, optimizer, step);
    EXPECT_EQ(blocks_taken_so_far() - blocks, 0);
    EXPECT_EQ(pool_stats().system_allocations - pool, 0);
    EXPECT_TRUE(std::isfinite(loss));
  }
}

TEST(Training, TheCounterCounts) {
  const auto taken_by = [](auto take) {
    const int64_t before = blocks_taken_so_far();
    take();
    return blocks_taken_so_far() - before;
  };
  static void* volatile block;  // what nobody looks at need not be allocated
  EXPECT_EQ(taken_by([] {
              block = ::operator new(8);
              ::operator delete(block);
            }),
            1);
#ifndef __SANITIZE_THREAD__  // GCC's ThreadSanitizer does not tell of aligned blocks
  EXPECT_EQ(taken_by([] {
              block = std::aligned_alloc(64, 128);
              std::free(block);
            }),
            1);
#endif
  EXPECT_EQ(taken_by([] {}), 0);
}

TEST(Training, AStepTakesNothingFromTheSystem) {
  for (const PositionKind kind : {PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned,
                                  PositionKind::kRotary, PositionKind::kAlibi, PositionKind::kT5}) {
    SCOPED_TRACE(nn::name_of(kind));
    expect_no_allocation(Translator(small_model(kind, 0.1f)));
    expect_no_allocation(LanguageModel(small_model(kind, 0.1f)));
  }
  ModelConfig gated = small_model(PositionKind::kRotary, 0.1f);
  gated.decoder.gated = true;
  gated.decoder.norm = nn::NormKind::kRms;
  gated.decoder.weights_in_out = true;
  gated.decoder.norm_place = nn::NormPlace::kPost;
  expect_no_allocation(LanguageModel(gated));
  ModelConfig images = models::preset("vit");
  images.encoder.layers = 2;
  expect_no_allocation(ImageClassifier(images));
}

// Two batches in turn: what each needs is there after it was seen once.
TEST(Training, NothingForShapesSeenBeforeEither) {
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    const ThreadsScope scope(threads);
    Translator job(small_model(PositionKind::kSinusoidal, 0.1f));
    release_unused();
    models::PairBatch other = pair_batch(4, {8, 30, 21}, {12, 25, 19});
    Optimizer optimizer(job.model.parameters, {});
    int64_t blocks = 0;
    for (uint64_t step = 0; step < 6; ++step) {
      if (step == 2) blocks = blocks_taken_so_far();
      train_step(job, optimizer, step);
      std::swap(job.batch, other);
    }
    EXPECT_EQ(blocks_taken_so_far() - blocks, 0);
  }
}

TEST(Training, WithoutAnyOneOfItsParts) {
  const ThreadsScope one(1);
  const std::vector<std::pair<const char*, void (*)(nn::StackConfig&)>> removals{
      {"nothing", [](nn::StackConfig&) {}},
      {"feed-forward", [](nn::StackConfig& s) { s.with_feed_forward = false; }},
      {"attention", [](nn::StackConfig& s) { s.with_attention = false; }},
      {"norm", [](nn::StackConfig& s) { s.norm = nn::NormKind::kNone; }},
      {"residual", [](nn::StackConfig& s) { s.with_residual = false; }},
      {"positions", [](nn::StackConfig& s) { s.positions.kind = PositionKind::kNone; }},
      {"bias", [](nn::StackConfig& s) { s.bias = s.norm_bias = false; }},
      {"cross-attention", [](nn::StackConfig& s) { s.with_cross_attention = false; }},
      {"final norm", [](nn::StackConfig& s) { s.final_norm = false; }}};
  for (const auto& [name, remove] : removals) {
    SCOPED_TRACE(name);
    ModelConfig config = small_model(PositionKind::kSinusoidal, 0);
    remove(config.encoder);
    remove(config.decoder);
    const std::vector<float> translator = train(Translator(config), 12), lm = train(LanguageModel(config), 12);
    EXPECT_LT(translator.back(), translator.front() - 0.05f);
    EXPECT_LT(lm.back(), lm.front() - 0.05f);
  }
}

TEST(Training, ImagesWithAndWithoutPositions) {
  const ThreadsScope one(1);
  for (const PositionKind kind : {PositionKind::kLearned, PositionKind::kNone, PositionKind::kSinusoidal}) {
    ModelConfig config = models::preset("vit");
    config.encoder.layers = 1;
    config.encoder.positions.kind = kind;
    const std::vector<float> losses = train(ImageClassifier(config), 12);
    EXPECT_LT(losses.back(), losses.front());
  }
}

TEST(Training, AccumulatedPartsAreTheWholeBatch) {
  ModelConfig config = small_model(PositionKind::kSinusoidal, 0.1f);
  config.family = models::Family::kDecoder;
  const Decoder whole(config), parts(config);
  const std::vector<int64_t> lengths{30, 50, 20};
  const std::vector<int32_t> ids = random_ids(100, 8), labels = random_ids(100, 9);
  const models::TokenBatch all_of_them{ids, Spans(lengths)};
  whole.loss(all_of_them, labels, {.scale = 0.01f}, training(1)).loss.backward();
  int64_t row = 0;
  for (uint32_t s = 0; s < 3; ++s) {
    const std::vector<int64_t> length{lengths[s]};
    const auto cut = [&](const std::vector<int32_t>& all) {
      return std::vector<int32_t>(all.begin() + row, all.begin() + row + lengths[s]);
    };
    const models::TokenBatch batch{cut(ids), Spans(length, s)};
    const std::vector<int32_t> own = cut(labels);
    parts.loss(batch, own, {.scale = 0.01f}, training(1)).loss.backward();
    row += lengths[s];
  }
  for (const nn::Parameter& p : whole.parameters.list()) {
    const std::vector<float> expected = p.tensor.grad().to_vector(),
                             found = parts.parameters[p.name].grad().to_vector();
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-6f) << p.name;
  }
}

// The numbers reach the kernel as they are written: 0.98f is 1e-8 off 0.98, and 1 - 0.98f a millionth.
TEST(Optimizing, TakesItsNumbersInDouble) {
  constexpr double kRate = 1e-3 / 3;
  nn::Parameters parameters;
  const Tensor w = parameters.declare("w", {3, 5}, nn::Init::normal(1));
  parameters.allocate(1);
  std::vector<float> expected = w.to_vector(), m(15), v(15), g = expected;
  Optimizer optimizer(parameters,
                      {.kind = OptimizerKind::kAdamW, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-9, .weight_decay = 0.1});
  for (int64_t step = 1; step <= 5; ++step) {
    sum(w * w).backward();
    for (size_t i = 0; i < g.size(); ++i) g[i] = 2 * expected[i];
    optimizer.step(kRate);
    kernels::adam({.n = 15,
                   .w = expected.data(),
                   .m = m.data(),
                   .v = v.data(),
                   .g = g.data(),
                   .lr = kRate,
                   .beta1 = 0.9,
                   .beta2 = 0.999,
                   .eps = 1e-9,
                   .weight_decay = 0.1,
                   .step = step});
    EXPECT_EQ(w.to_vector(), expected) << step;
  }
}

TEST(Optimizing, ANormOfFifteenIsClippedByAFifteenth) {
  const Tensor slope = Tensor::from({10, -5, 10, 0}, {4});
  for (const float clip : {1.0f, 15.0f}) {  // at the threshold gradients stay as they are
    nn::Parameters parameters;
    const Tensor w = parameters.declare("w", {4}, nn::Init::zeros());
    parameters.allocate(1);
    Optimizer optimizer(parameters, {.kind = OptimizerKind::kSgd, .clip_norm = clip});
    sum(w * slope).backward();
    EXPECT_DOUBLE_EQ(optimizer.step(1), 15);
    const float scale = clip / 15;
    testing::expect_values(w, {-10 * scale, 5 * scale, -10 * scale, 0}, 1e-7f);
  }
}

TEST(Optimizing, RefusesWhatMakesNoSense) {
  nn::Parameters none;
  EXPECT_EQ(testing::message_of([&] { Optimizer(none, {}); }), "[optimizer] nothing to train");
  nn::Parameters some;
  some.declare("w", {2}, nn::Init::ones());
  some.allocate(1);
  EXPECT_EQ(testing::message_of([&] { Optimizer(some, {.weight_decay = 0.1}); }),
            "[optimizer] Adam with a weight decay of 0.1: expected AdamW");
}

// They have no place in the arena, which a step would write beyond.
TEST(Optimizing, RefusesWhatHasNoMemoryOfItsOwn) {
  const std::vector<float> file(6);
  nn::Parameters stored;
  stored.declare("bias", {3}, nn::Init::ones());
  stored.declare("table", {2, 3}, nn::Init::ones()).set_stored({.data = file.data(), .ld = 3, .owner = nullptr});
  stored.allocate_for_loading();
  EXPECT_EQ(testing::message_of([&] { Optimizer(stored, {}); }),
            "[optimizer] 'table' stays in its file: expected numbers in memory");
  nn::Parameters frozen;
  frozen.declare("w", {2}, nn::Init::ones());
  frozen.freeze();
  frozen.allocate(1);
  EXPECT_EQ(testing::message_of([&] { Optimizer(frozen, {}); }),
            "[optimizer] the parameters are frozen: expected gradients");
}

}  // namespace
}  // namespace heed::train
