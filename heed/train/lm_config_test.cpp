// The config of a language model: which keys it has, and what its presets and architectures say.
#include "heed/io/test_files.h"
#include "heed/train/config.h"

namespace heed::train {
namespace {

std::string refused(const std::string& toml) {
  TrainConfig config;
  return message_of<Error>([&] { read_config_text(config, toml, "run.toml"); });
}

std::string set_refused(const std::string& assignment) {
  TrainConfig config;
  return message_of<Error>([&] { set_config(config, assignment); });
}

TEST(LmConfig, TheTaskDecidesWhichKeysThereAre) {
  TrainConfig config;
  // Wherever the task stands, and whatever the config was before.
  read_config_text(config, "model.context = 7\nmodel.bias = false\ndata.text = 'a'\ntask = 'lm'\n", "run.toml");
  EXPECT_EQ(config.task, "lm");
  EXPECT_EQ(config.model.context, 7);
  EXPECT_EQ(config.model.bias, false);
  EXPECT_EQ(config.model.tie, std::nullopt);
  EXPECT_EQ(config.train.optimizer, "adamw");
  read_config_text(config, "train.seed = 3\n", "run.toml");
  EXPECT_EQ(config.task, "lm");
  EXPECT_EQ(refused("model.context = 7\n"),
            "[config] run.toml:1:17: 'model.context' is a key of the task 'lm', and this run's is another");
  EXPECT_EQ(
      refused("task = 'lm'\n[model]\nencoder_layers = 3\n"),
      "[config] run.toml:3:18: 'model.encoder_layers' is a key of the task 'translate', and this run's is another");
  EXPECT_EQ(refused("task = 'ml'\n"), "[config] run.toml:1:8: task is 'ml', did you mean 'lm'?");
  EXPECT_EQ(refused("task.lm = 1\n"), "[config] run.toml:1:1: task is of type table, expected a text in quotes");
  EXPECT_EQ(set_refused("task=lm"), "[config] --set task=lm: the task is said by the command or by a config file");
  EXPECT_EQ(set_refused("context=3"),
            "[config] --set context=3: 'context' is a key of the task 'lm', and this run's is another");
}

TrainConfig enough_text() {
  TrainConfig config = default_config("lm");
  config.data.text = {"a"}, config.save.out = "model";
  return config;
}

TEST(LmConfig, ResolvingALanguageModelLeavesNothingOpen) {
  for (const char* arch : {"gpt2", "llama"}) {
    for (const char* preset : {"auto", "tiny", "small", "base"}) {
      TrainConfig config = enough_text();
      config.model.arch = arch, config.model.preset = preset;
      check_config(config);
      EXPECT_NE(resolve_config(config, 1'000'000), "");
      const std::string once = config_text(config);
      for (size_t at = once.find(" = \"\"\n"); at != once.npos; at = once.find(" = \"\"\n", at + 1))
        EXPECT_EQ(once.substr(at - 5, 5), "\nfrom") << once;  // no model to go on from
      EXPECT_NE(once.find("\nbias = "), std::string::npos);
      EXPECT_EQ(resolve_config(config, 1'000'000), "");
      EXPECT_EQ(config_text(config), once);
      check_resolved(config);
      TrainConfig read;
      read_config_text(read, once, "train.toml");
      EXPECT_EQ(config_text(read), once);
    }
  }
}

TEST(LmConfig, TheArchitectureSaysWhatIsNotSaid) {
  TrainConfig gpt = enough_text(), llama = enough_text();
  llama.model.arch = "llama", llama.model.d_model = 384, llama.model.heads = 6, llama.model.kv_heads = 2;
  gpt.model.bias = false, gpt.model.activation = "swiglu", gpt.model.d_model = 96;
  for (TrainConfig* config : {&gpt, &llama}) resolve_config(*config, 0);
  const models::ModelConfig a = model_config(gpt, 0, 70), b = model_config(llama, 0, 70);
  EXPECT_EQ(a.decoder.positions.kind, nn::PositionKind::kLearned);
  EXPECT_EQ(a.decoder.positions.max_length, gpt.model.context);
  EXPECT_TRUE(a.tie_embeddings && a.decoder.gated && !a.decoder.bias && !a.decoder.norm_bias);
  EXPECT_EQ(a.decoder.d_ff, 256);
  EXPECT_EQ(b.decoder.norm, nn::NormKind::kRms);
  EXPECT_EQ(b.decoder.positions.kind, nn::PositionKind::kRotary);
  EXPECT_EQ(b.decoder.d_ff, 1024);
  EXPECT_EQ(b.decoder.key_heads(), 2);
  EXPECT_FALSE(b.tie_embeddings || b.scale_embedding);
}

TEST(LmConfig, AutoFollowsTheTextAndTheMachine) {
  const auto preset = [](int64_t bytes, int64_t cores) {
    TrainConfig config = enough_text();
    const std::string said = resolve_config(config, bytes, {cores, false});
    EXPECT_TRUE(said.starts_with("preset " + config.model.preset + ": ")) << said;
    return config.model.preset;
  };
  EXPECT_EQ(preset(1'000'000, 2), "tiny");
  EXPECT_EQ(preset(100'000, 64), "tiny");
  EXPECT_EQ(preset(1'000'000, 16), "small");
  EXPECT_EQ(preset(2'000'000'000, 2), "small");
  EXPECT_EQ(preset(2'000'000'000, 16), "base");
  TrainConfig config = enough_text();
  EXPECT_EQ(
      resolve_config(config, 1'115'394, {2, false}),
      "preset tiny: 1.1 MB of text, 2 cores; at most 5000 steps, or 10 validations without a better one; precision "
      "f32: this CPU has no bf16 products");
}

TEST(LmConfig, TheScheduleOfALanguageModelFollowsItsLimit) {
  TrainConfig steps = enough_text(), minutes = enough_text();
  steps.train.max_steps = 400, minutes.train.max_minutes = 3;
  for (TrainConfig* config : {&steps, &minutes}) {
    resolve_config(*config, 0);
    check_resolved(*config);
  }
  EXPECT_EQ(steps.train.schedule, "cosine");
  EXPECT_EQ(steps.train.warmup, 40);
  EXPECT_EQ(steps.valid.every, 20);
  EXPECT_EQ(minutes.train.schedule, "sqrt");
  TrainConfig empty = default_config("lm");
  EXPECT_NE(message_of<Error>([&] { check_config(empty); }).find("data.text (--text F...)"), std::string::npos);
}

}  // namespace
}  // namespace heed::train
