// Steps of a run: what one is made of, its limits, and the models it leaves.
#include "heed/train/trainer.h"

#include <cmath>

#include "heed/models/directory.h"
#include "heed/train/pair_batch.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

using TrainerTest = TinyRun;

TEST_F(TrainerTest, AccumulatedBatchesAreOneBatchOfTheirUnion) {
  config_.train.optimizer = "sgd", config_.train.learning_rate = 0.5, config_.train.clip = 0;
  for (const int64_t k : {1, 2, 3, 5}) {
    config_.train.accumulate = k;
    Trainer accumulating = trainer();
    accumulating.step();
    // The same by hand.
    const Trainer fresh = trainer();
    const models::EncoderDecoder& model = model_of(fresh);
    const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens, .seed = 1}, 0);
    std::vector<uint32_t> all;
    for (int64_t i = 0; i < k; ++i) {
      const std::span<const uint32_t> batch = epoch.batch(i);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    const models::PairBatch batch = pair_batch(data_.train, all, model.config.tokens.start);
    const nn::Context context{.training = true, .seed = 1, .step = 0, .trace = nullptr};
    model.loss(batch, {.smoothing = 0.1f}, context).loss.backward();
    Optimizer optimizer(model.parameters, optimizer_config(config_));
    EXPECT_GT(optimizer.step(0.5), 0);
    double moved = 0;
    for (int64_t i = 0; i < model.parameters.arena_size(); ++i) {
      ASSERT_NEAR(accumulating.arrays().weights[i], model.parameters.values()[i], 1e-5)
          << k << " batches, number " << i;
      moved = std::max(moved, std::abs(double{model.parameters.values()[i]}));
    }
    EXPECT_GT(moved, 1e-3);
  }
}

// A batch has room for half of the sentences, each with two dropouts; an epoch still is every sentence once.
TEST_F(TrainerTest, AgreementReadsEverySentenceTwice) {
  config_.train.optimizer = "sgd", config_.train.learning_rate = 0.5, config_.train.clip = 0;
  config_.train.agreement = 2, config_.model.dropout = 0.3;
  const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens / 2, .seed = 1}, 0);
  const int64_t tokens = 2 * (data_.train.source_tokens() + data_.train.target_tokens());
  for (const int64_t k : {1, 3}) {
    config_.train.accumulate = k;
    Trainer agreeing = trainer();
    EXPECT_EQ(agreeing.tokens_of_an_epoch(), tokens);
    agreeing.step();
    const Trainer fresh = trainer();
    const models::EncoderDecoder& model = model_of(fresh);
    const nn::Context context{.training = true, .seed = 1, .step = 0, .trace = nullptr};
    std::vector<models::PairBatch> batches;
    size_t rows = 0;
    uint32_t first_id = 0;
    for (int64_t i = 0; i < k; ++i) {
      std::vector<uint32_t> twice(epoch.batch(i).begin(), epoch.batch(i).end());
      twice.insert(twice.end(), epoch.batch(i).begin(), epoch.batch(i).end());
      batches.push_back(pair_batch(data_.train, twice, model.config.tokens.start, first_id));
      rows += batches.back().labels.size(), first_id += static_cast<uint32_t>(twice.size());
    }
    for (const models::PairBatch& batch : batches) {
      LossArgs args{.smoothing = 0.1f, .scale = 1.0f / static_cast<float>(rows)};
      const float without = model.loss(batch, args, context).loss.item();
      args.agreement = 2;
      const LossResult with = model.loss(batch, args, context);
      EXPECT_GT(with.loss.item(), without) << "the two dropouts differ";
      with.loss.backward();
    }
    Optimizer optimizer(model.parameters, optimizer_config(config_));
    EXPECT_GT(optimizer.step(0.5), 0);
    for (int64_t i = 0; i < model.parameters.arena_size(); ++i)
      ASSERT_NEAR(agreeing.arrays().weights[i], model.parameters.values()[i], 1e-5) << "number " << i;
    while (agreeing.state().epoch == 0) agreeing.step();
    EXPECT_EQ(agreeing.state().step, (epoch.size() + k - 1) / k);
    EXPECT_EQ(agreeing.state().tokens, tokens);
    EXPECT_EQ(agreeing.learner().usual_batches(),
              2 * std::max(data_.train.source_tokens(), data_.train.target_tokens()) / config_.train.batch_tokens);
  }
  config_.train.batch_tokens = 1;  // a sentence is never cut
  trainer().step();
}

TEST_F(TrainerTest, AStepNeverHoldsSentencesOfTwoEpochs) {
  config_.train.accumulate = 4;
  Trainer run = trainer();
  const data::EpochBatches epoch(data_.train, {.tokens = config_.train.batch_tokens, .seed = 1}, 0);
  ASSERT_NE(epoch.size() % 4, 0);
  EXPECT_EQ(run.steps_of_an_epoch(), (epoch.size() + 3) / 4);
  for (int64_t i = 0; i < run.steps_of_an_epoch(); ++i) run.step();
  EXPECT_EQ(run.state().epoch, 1);
  EXPECT_EQ(run.state().batch, 0);
  EXPECT_EQ(run.state().tokens, data_.train.source_tokens() + data_.train.target_tokens());
}

TEST_F(TrainerTest, TheSameBitsAtAnyNumberOfThreads) {
  config_.train.average_decay = 0.9;
  std::string first;
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Trainer run = trainer(std::to_string(threads));
    for (int i = 0; i < 10; ++i) run.step();
    if (first.empty()) first = bits_of(run);
    EXPECT_TRUE(bits_of(run) == first) << threads << " threads";
  }
  set_num_threads(before);
}

TEST_F(TrainerTest, ItLearns) {
  config_.train.max_steps = 60, config_.valid.every = 20;
  config_.model.dropout = config_.model.attention_dropout = config_.model.activation_dropout = 0;
  whole("model");
  ASSERT_EQ(listener_.validations.size(), 3u);
  EXPECT_LT(listener_.validations.back().loss, 0.75 * std::log(259.0));
  EXPECT_LT(listener_.validations[2].loss, listener_.validations[0].loss);
}

TEST_F(TrainerTest, MeasuringTheSpeedChangesNothing) {
  Trainer measured = trainer("measured"), other = trainer("other");
  EXPECT_GT(measured.measure_speed(), 0);
  EXPECT_EQ(measured.state().step, 0);
  for (int i = 0; i < 3; ++i) measured.step(), other.step();
  EXPECT_TRUE(bits_of(measured) == bits_of(other));
}

TEST_F(TrainerTest, EndsAtItsLimits) {
  EXPECT_EQ(whole("steps").step, 12);
  config_.train.max_steps = 0, config_.train.max_epochs = 2;
  const RunState epochs = whole("epochs");
  EXPECT_EQ(epochs.epoch, 2);
  EXPECT_EQ(epochs.batch, 0);
  config_.train.max_epochs = 0, config_.train.max_minutes = 1e-7;
  EXPECT_EQ(whole("minutes").step, 1);
}

TEST_F(TrainerTest, PatienceEndsARunAndAResumedOneToo) {
  config_.train.learning_rate = 0;  // nothing gets better
  config_.train.max_steps = 100, config_.valid.every = 2, config_.valid.patience = 2;
  Trainer run = trainer();
  EXPECT_EQ(run.run(never), Ended::kPatience);
  EXPECT_EQ(run.state().step, 6);
  EXPECT_EQ(run.state().best_step, 2);
  ASSERT_EQ(listener_.validations.size(), 3u);
  EXPECT_TRUE(listener_.validations[0].best);
  EXPECT_FALSE(listener_.validations[1].best);

  Trainer again = trainer();
  ASSERT_TRUE(again.resume());
  EXPECT_EQ(again.run(never), Ended::kPatience);
  EXPECT_EQ(again.state().step, 6);

  config_.valid.patience = 3;  // more of it goes on
  Trainer patient = trainer();
  ASSERT_TRUE(patient.resume());
  EXPECT_EQ(patient.run(never), Ended::kPatience);
  EXPECT_EQ(patient.state().step, 8);
}

// --- The models ---

TEST_F(TrainerTest, TheMovingAverageFollowsTheWeights) {
  config_.train.average_decay = 0.5;
  Trainer run = trainer();
  const int64_t n = run.arrays().size;
  std::vector<float> average(run.arrays().weights, run.arrays().weights + n);
  for (int step = 1; step <= 8; ++step) {
    run.step();
    const auto keep = static_cast<float>(std::min(0.5, (step + 1.0) / (step + 10.0)));
    for (int64_t i = 0; i < n; ++i) {
      float& mean = average[static_cast<size_t>(i)];
      mean = keep * mean + (1 - keep) * run.arrays().weights[i];
      ASSERT_FLOAT_EQ(run.arrays().average[i], mean) << "step " << step;
    }
  }
}

// Writes these weights as a model of the run would be.
void save_weights(const Trainer& like, const std::vector<float>& weights, const std::string& folder) {
  std::copy(weights.begin(), weights.end(), like.arrays().weights);
  models::save_translator(folder, model_of(like));
}

TEST_F(TrainerTest, TheMovingAverageIsTheModel) {
  config_.train.average_decay = 0.9;
  data_.valid.reset();
  Trainer run = trainer();
  run.run(never);
  run.finish();
  const std::vector<float> average(run.arrays().average, run.arrays().average + run.arrays().size);
  EXPECT_NE(std::memcmp(average.data(), run.arrays().weights, average.size() * sizeof(float)), 0);
  const RunFolder expected = model("expected");
  save_weights(run, average, expected.model);
  EXPECT_TRUE(content_of(model("model").model + "/model.safetensors") ==
              content_of(expected.model + "/model.safetensors"));
}

TEST_F(TrainerTest, TheMeanOfTheLastCheckpointsLeavesOutThoseOfAStop) {
  config_.train.average_last = 3, config_.save.keep = 3, config_.save.every = 2;
  Trainer stopped = trainer();
  EXPECT_EQ(stopped.run(after(11)), Ended::kAsked);
  Trainer run = trainer();
  ASSERT_TRUE(run.resume());
  EXPECT_EQ(run.state().step, 11);
  run.run(never);
  run.finish();
  std::vector<std::pair<int64_t, CheckpointKind>> left;
  for (const CheckpointFile& file : checkpoints_in(model("model").training())) left.emplace_back(file.step, file.kind);
  using enum CheckpointKind;
  EXPECT_EQ(left, (std::vector<std::pair<int64_t, CheckpointKind>>{
                      {12, kStopped}, {12, kRegular}, {10, kRegular}, {8, kRegular}}));

  const int64_t n = run.arrays().size;
  std::vector<double> sum(static_cast<size_t>(n));
  for (const int64_t step : {8, 10, 12}) {
    Trainer at = trainer();
    at.resume_from(checkpoint_path(model("model").training(), step, kRegular));
    for (int64_t i = 0; i < n; ++i) sum[static_cast<size_t>(i)] += double{at.arrays().weights[i]};
  }
  std::vector<float> mean;
  mean.reserve(sum.size());
  for (const double s : sum) mean.push_back(static_cast<float>(s / 3));
  const RunFolder expected = model("expected");
  save_weights(run, mean, expected.model);
  EXPECT_TRUE(content_of(model("model").model + "/model.safetensors") ==
              content_of(expected.model + "/model.safetensors"));
}

TEST_F(TrainerTest, ItTellsWhatTheModelIsTheMeanOf) {
  config_.train.average_last = 3, config_.save.keep = 3, config_.save.every = 5;
  whole("model");
  EXPECT_EQ(listener_.messages.back(), "the model is the mean of 2 checkpoints, of steps 5 to 10, 3 were asked for");
  config_.train.average_last = 2;
  whole("two");
  EXPECT_EQ(listener_.messages.back(), "the model is the mean of 2 checkpoints, of steps 5 to 10");
  config_.save.every = 50;
  whole("none");
  EXPECT_EQ(listener_.messages.back(), "the model is of the last step: no checkpoint to average, 2 were asked for");
}

TEST_F(TrainerTest, CurvesAreDrawnWhileItRunsWithoutValidationToo) {
  data_.valid.reset();
  config_.save.every = 2;
  listener_.breaks_at = 5;
  Trainer run = trainer();
  EXPECT_THROW(run.run(never), std::runtime_error);
  EXPECT_NE(content_of(model("model").model + "/curves.svg").find("<polyline"), std::string::npos);
}

TEST_F(TrainerTest, Bf16ThatIsNotNativeIsTold) {
  config_.train.precision = "bf16", config_.train.max_steps = 1;
  whole("model");
  EXPECT_EQ(listener_.messages.size(), kernels::has_native_bf16() ? 0u : 1u);
  for (const std::string& message : listener_.messages) EXPECT_TRUE(message.starts_with("precision bf16: "));
}

TEST_F(TrainerTest, TheBestOneIsTheModel) {
  config_.train.learning_rate = 0.5, config_.train.max_steps = 20, config_.valid.every = 1;  // soon too much
  config_.save.keep = 100;
  const RunState end = whole("model");
  ASSERT_LT(end.best_step, end.step);
  for (const ValidationReport& r : listener_.validations) EXPECT_GE(r.loss, -end.best);
  Trainer best = trainer();
  best.resume_from(checkpoint_path(model("model").training(), end.best_step, CheckpointKind::kRegular));
  const RunFolder expected = model("expected");
  models::save_translator(expected.model, model_of(best));
  EXPECT_TRUE(content_of(model("model").model + "/model.safetensors") ==
              content_of(expected.model + "/model.safetensors"));
}

// What translating asks of it: how long its lines were, which head points at words.
TEST_F(TrainerTest, TheModelKnowsWhatItWasTrainedWith) {
  config_.data.max_length = 64, config_.train.max_steps = 2;
  for (const char* place : {"post", "pre"}) {
    for (const char* positions : {"sinusoidal", "learned"}) {
      config_.model.norm_place = place, config_.model.positions = positions;
      const std::string name = std::string(place) + positions;
      whole(name);
      const models::ModelConfig found = models::load_translator(folder_.file(name)).config;
      EXPECT_EQ(found.trained_length, 64) << name;
      EXPECT_EQ(found.encoder.positions.max_length, std::string(positions) == "learned" ? 64 : 512) << name;
      EXPECT_GE(found.alignment.layer, 0) << name;
    }
  }
}

TEST_F(TrainerTest, ValidationsTranslateAndScore) {
  config_.valid.max_sentences = 100, config_.valid.samples = 2, config_.train.max_steps = 4;
  data_.valid_source = {"a b c", "d e"}, data_.valid_target = {"c b a", "e d"};
  whole("model");
  ASSERT_EQ(listener_.validations.size(), 1u);
  const ValidationReport& r = listener_.validations[0];
  EXPECT_GE(r.bleu, 0);
  EXPECT_GE(r.chrf, 0);
  ASSERT_EQ(r.samples.size(), 2u);
  EXPECT_EQ(r.samples[1].source, "d e");
  EXPECT_EQ(r.samples[1].reference, "e d");
  const std::string log = content_of(model("model").model + "/metrics.jsonl");
  EXPECT_NE(log.find("\"samples\":[{"), std::string::npos);
  EXPECT_NE(content_of(model("model").model + "/curves.svg").find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace heed::train
