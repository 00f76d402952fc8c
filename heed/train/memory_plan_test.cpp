// Activation checkpointing as a run meets it: when it is chosen, that the estimate is one, and that no bit changes.
#include "heed/train/memory_plan.h"

#include "heed/base/buffer.h"
#include "heed/base/memory.h"
#include "heed/models/activation_count.h"
#include "heed/models/decoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

constexpr int64_t kGiga = 1'000'000'000;

TEST(MemoryPlan, AutoIsDecidedByWhatIsFree) {
  TrainConfig config = default_config("lm");
  config.data.text = {"text"}, config.save.out = "model";
  config.model.preset = "base";
  resolve_config(config, 0);
  const auto plan = [&](const std::string& choice, int64_t available) {
    TrainConfig c = config;
    c.train.activation_checkpointing = choice;
    const std::string said = plan_memory(c, 100'000'000, available);
    EXPECT_EQ(said.empty(), choice != "auto" || c.train.activation_checkpointing == "off") << said;
    return c.train.activation_checkpointing + (said.find("computed twice") != said.npos ? ", said" : "");
  };
  EXPECT_EQ(plan("auto", 100 * kGiga), "off");
  EXPECT_EQ(plan("auto", 4 * kGiga), "on, said");
  EXPECT_EQ(plan("on", 100 * kGiga), "on");
  EXPECT_EQ(plan("off", 4 * kGiga), "off");
  EXPECT_LE(available_memory(), physical_memory());
}

// What lies in the pool when the forward is over, of several kinds of blocks.
TEST(MemoryPlan, TheEstimateIsNearWhatAStepKeeps) {
  models::ModelConfig config;
  config.vocabulary = config.source_vocabulary = 50;
  nn::StackConfig& s = config.encoder;
  s.layers = 4, s.d_model = 128, s.heads = 4, s.d_ff = 512;
  s.activation = Activation::kGelu;
  config.decoder = s;
  const std::vector<int64_t> lengths(16, 32);
  const Spans spans(lengths);
  models::PairBatch pair;
  pair.source = pair.target = {std::vector<int32_t>(512, 3), spans};
  pair.labels.assign(512, 4);
  const auto expect_near = [&](const auto& model, const auto& loss) {
    for (const bool recompute : {false, true}) {
      const int64_t before = pool_stats().bytes_used;
      const LossResult result = loss(model, nn::Context{.training = true, .recompute = recompute});
      const auto kept = static_cast<double>(pool_stats().bytes_used - before);
      const int64_t all = models::kept_activations(model.config, 512);
      // The inputs of four blocks; beside them the embedding, the last norm, the gradient that the loss holds ready.
      const int64_t inputs = 512 * 128 * 8 * (model.config.family == models::Family::kDecoder ? 1 : 2);
      const double expected = 4.0 * static_cast<double>(recompute ? inputs : all);
      EXPECT_GT(kept, 0.7 * expected) << recompute;
      EXPECT_LT(kept, 1.25 * expected) << recompute;
      result.loss.backward();
    }
  };
  const auto translating = [&](const auto& m, const nn::Context& c) { return m.loss(pair, {}, c); };
  expect_near(models::EncoderDecoder(config), translating);
  config.encoder.activation = config.decoder.activation = Activation::kRelu;
  expect_near(models::EncoderDecoder(config), translating);
  config.decoder.activation = Activation::kGelu;
  config.family = models::Family::kDecoder;
  const auto next_token = [&](const auto& m, const nn::Context& c) { return m.loss(pair.target, pair.labels, {}, c); };
  expect_near(models::Decoder(config), next_token);
  config.decoder.gated = true, config.decoder.kv_heads = 2;
  config.decoder.positions.kind = nn::PositionKind::kRotary;
  expect_near(models::Decoder(config), next_token);
}

class MemoryOfAStep : public TinyRun {};

TEST_F(MemoryOfAStep, IsLessWhereBlocksAreComputedTwice) {
  config_.model.encoder_layers = config_.model.decoder_layers = 8;
  config_.train.batch_tokens = 400;
  const auto peak = [&](const char* choice) {
    config_.train.activation_checkpointing = choice;
    Trainer run = trainer(choice);
    reset_peak();
    const int64_t before = pool_stats().bytes_used;
    run.step();
    return pool_stats().peak_used - before;
  };
  EXPECT_LT(peak("on"), peak("off") / 2);
}

// A run may go on with another choice than it was started with.
TEST(MemoryPlan, ARunOfEveryTaskGivesTheSameBits) {
  for (const std::string& task : task_names()) {
    std::string kept;
    for (const char* choice : {"off", "on", "on, then off"}) {
      const TemporaryFolder folder;
      TrainConfig config = tiny_run(task, folder);
      Listener listener;
      config.train.activation_checkpointing = std::string(choice).substr(0, 3) == "off" ? "off" : "on";
      if (std::string(choice) == "on, then off") {
        int64_t asked = 0;
        const auto stop = [&] { return !listener.steps.empty() && ++asked == 3; };
        EXPECT_EQ(run_training(config, {}, listener, stop).ended, Ended::kAsked);
        config.train.activation_checkpointing = "off";
      }
      run_training(config, {.resume = true}, listener, [] { return false; });
      const std::string found = content_of(folder.file("model/model.safetensors"));
      ASSERT_FALSE(found.empty());
      if (kept.empty()) kept = found;
      EXPECT_TRUE(found == kept) << task << ": " << choice;
    }
  }
}

}  // namespace
}  // namespace heed::train
