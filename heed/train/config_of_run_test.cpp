// What a run needs of its config, and what is filled in where nothing was said.
#include <functional>

#include "heed/io/test_files.h"
#include "heed/train/config.h"

namespace heed::train {
namespace {

TrainConfig enough() {
  TrainConfig config;
  config.data.src = {"a"}, config.data.tgt = {"b"}, config.save.out = "model";
  return config;
}

std::string check_refused(const std::function<void(TrainConfig&)>& change) {
  TrainConfig config = enough();
  change(config);
  return message_of<Error>([&] { check_config(config); });
}

TEST(ConfigOfARun, ChecksWhatARunNeeds) {
  TrainConfig good = enough();
  check_config(good);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.data.tgt.clear(); }).find("data.src is there and data.tgt is missing"),
            std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.data.tsv = {"c"}; }).find("expected one of them"), std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.data.valid_src = {"c"}; }).find("one is missing"), std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.save.out.clear(); }).find("save.out"), std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.train.accumulate = 0; }).find("train.accumulate is 0"),
            std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.train.schedule = "sqrtt"; }).find("'sqrt'?"), std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.save.out = "\xff"; }).find("save.out is '\\xff', expected UTF-8"),
            std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.data.src = {"a\xc3"}; }).find("data.src"), std::string::npos);
}

TEST(ConfigOfARun, WhatHasNoEffectIsRefused) {
  const auto bytes = [](const std::function<void(TrainConfig&)>& change) {
    return check_refused([&](TrainConfig& c) { c.text.tokenizer = "byte", change(c); });
  };
  TrainConfig good = enough();
  good.text.tokenizer = "byte";
  check_config(good);
  EXPECT_NE(bytes([](TrainConfig& c) { c.text.vocabulary = 77; }).find("text.vocabulary is 77"), std::string::npos);
  EXPECT_NE(bytes([](TrainConfig& c) { c.text.joint = false; }).find("text.joint is false"), std::string::npos);
  EXPECT_NE(check_refused([](TrainConfig& c) { c.text.split_dropout = 0.2; }).find("text.split_dropout is 0.2 without"),
            std::string::npos);
  good = enough();
  good.text.split_dropout = 0.2, good.text.variants = 2;
  check_config(good);
  good.train.agreement = 5, good.model.dropout = 0;
  EXPECT_NE(message_of<Error>([&] { resolve_config(good, 1000); }).find("train.agreement is 5 without dropout"),
            std::string::npos);
  good.model.attention_dropout = 0.1;
  resolve_config(good, 1000);
}

TEST(ConfigOfARun, ResolvingLeavesNothingOpen) {
  for (const char* preset : {"tiny", "small", "base"}) {
    TrainConfig config = enough();
    config.model.preset = preset;
    resolve_config(config, 1000);
    EXPECT_GT(config.model.encoder_layers * config.model.decoder_layers * config.model.d_ff, 0);
    EXPECT_GE(config.model.dropout, 0);
    EXPECT_GT(config.train.batch_tokens * config.train.warmup, 0);
    EXPECT_GT(config.train.learning_rate, 0);
    EXPECT_NE(config.train.precision, "auto");
    EXPECT_GT(config.train.max_epochs, 0);
    const std::string once = config_text(config);
    EXPECT_EQ(resolve_config(config, 1000), "");
    EXPECT_EQ(config_text(config), once);
    model_config(config, 100, 100);
  }
}

TEST(ConfigOfARun, AutoFollowsTheData) {
  for (const auto& [pairs, preset] :
       {std::pair(100, "tiny"), std::pair(500'000, "small"), std::pair(5'000'000, "base")}) {
    TrainConfig config = enough();
    const std::string said = resolve_config(config, pairs, {.cores = 16, .native_bf16 = false});
    EXPECT_EQ(config.model.preset, preset);
    EXPECT_NE(said.find(fmt::format("preset {}: {} sentence pairs, 16 cores", preset, pairs)), std::string::npos)
        << said;
  }
}

TEST(ConfigOfARun, AutoFollowsTheMachine) {
  const auto said = [](const char* preset, const Machine& machine) {
    TrainConfig config = enough();
    config.model.preset = preset, config.train.max_steps = 9;
    return resolve_config(config, 5'000'000, machine);
  };
  EXPECT_EQ(said("auto", {2, false}),
            "preset small: 5000000 sentence pairs, 2 cores; precision f32: this CPU has no bf16 products");
  EXPECT_EQ(said("auto", {8, true}),
            "preset base: 5000000 sentence pairs, 8 cores; precision bf16: this CPU multiplies bf16 natively");
  EXPECT_EQ(said("tiny", {8, true}), "precision bf16: this CPU multiplies bf16 natively");
  TrainConfig narrow = enough();
  narrow.model.preset = "tiny", narrow.model.d_model = 64, narrow.train.max_steps = 9;
  EXPECT_EQ(resolve_config(narrow, 100, {8, true}), "precision f32: d_model is below 128");
}

TEST(ConfigOfARun, PatienceIsOfValidations) {
  for (const std::string& task : task_names()) {
    TrainConfig config = default_config(task);
    config.data.tsv = config.data.text = config.data.images = {"a"}, config.save.out = "model";
    TrainConfig with = config, without = config;
    with.data.valid_tsv = {"b"}, without.data.valid_share = 0;
    EXPECT_NE(resolve_config(with, 10).find(", or 10 validations without a better one"), std::string::npos) << task;
    EXPECT_EQ(with.valid.patience, 10);
    EXPECT_EQ(resolve_config(without, 10).find("validations"), std::string::npos) << task;
    EXPECT_EQ(without.valid.patience, 0);
    check_config(with), check_config(without);
    without.valid.patience = 3;
    EXPECT_EQ(message_of<Error>([&] { check_config(without); }),
              "[config] valid.patience is 3 and there is no data to validate with: expected 0");
  }
}

TEST(ConfigOfARun, PresetsHaveTheirShapes) {
  struct Shape {
    const char* preset;
    int64_t layers, d_model, d_ff, heads;
  };
  for (const Shape& shape :
       {Shape{"tiny", 4, 128, 256, 4}, Shape{"small", 6, 256, 1024, 4}, Shape{"base", 6, 512, 2048, 8}}) {
    TrainConfig config = enough();
    config.model.preset = shape.preset;
    resolve_config(config, 1000);
    const models::ModelConfig found = model_config(config, 100, 100);
    for (const nn::StackConfig& stack : {found.encoder, found.decoder}) {
      EXPECT_EQ(stack.layers, shape.layers) << shape.preset;
      EXPECT_EQ(stack.d_model, shape.d_model) << shape.preset;
      EXPECT_EQ(stack.d_ff, shape.d_ff) << shape.preset;
      EXPECT_EQ(stack.heads, shape.heads) << shape.preset;
    }
  }
}

TEST(ConfigOfARun, DropoutIsThatOfItsPlace) {
  for (const std::string task : {"translate", "lm"}) {
    TrainConfig config = default_config(task);
    config.model.preset = "tiny";
    config.model.dropout = 0.125, config.model.attention_dropout = 0.25, config.model.activation_dropout = 0.5;
    resolve_config(config, 1000);
    const models::ModelConfig found = model_config(config, 100, 100);
    std::vector<nn::StackConfig> stacks = {found.decoder};
    if (task == "translate") stacks.push_back(found.encoder);
    for (const nn::StackConfig& stack : stacks) {
      EXPECT_EQ(stack.dropout.residual, 0.125f) << task;
      EXPECT_EQ(stack.dropout.embedding, 0.125f) << task;
      EXPECT_EQ(stack.dropout.attention, 0.25f) << task;
      EXPECT_EQ(stack.dropout.activation, 0.5f) << task;
    }
  }
}

TEST(ConfigOfARun, WhatThePresetSaysMayBeOverridden) {
  TrainConfig config = enough();
  config.model.preset = "tiny", config.model.d_model = 64, config.model.dropout = 0, config.train.max_steps = 5;
  config.train.average_last = 7;
  resolve_config(config, 10);
  EXPECT_EQ(config.model.d_model, 64);
  EXPECT_EQ(config.model.d_ff, 256);
  EXPECT_EQ(config.model.dropout, 0);
  EXPECT_EQ(config.train.max_epochs, 0);
  EXPECT_EQ(config.save.keep, 7);
}

TEST(ConfigOfARun, NoWarmUpCanBeSaid) {
  TrainConfig config = enough();
  config.model.preset = "tiny";
  EXPECT_EQ(config.train.warmup, -1);
  config.train.warmup = 0;
  resolve_config(config, 10);
  EXPECT_EQ(config.train.warmup, 0);
}

// As PyTorch has it of a translator, as GPT's kind has it of a language model; it stands in the config that is kept.
TEST(ConfigOfARun, AdamWDecaysWhereNothingIsSaid) {
  const auto decay = [](const char* task, const char* optimizer, double said = -1) {
    TrainConfig config = default_config(task);
    EXPECT_EQ(config.train.weight_decay, -1);
    config.train.optimizer = optimizer, config.train.weight_decay = said, config.train.max_steps = 100;
    resolve_config(config, 1000);
    check_resolved(config);
    TrainConfig kept;
    read_config_text(kept, config_text(config), "kept");
    EXPECT_EQ(kept.train.weight_decay, config.train.weight_decay);
    return config.train.weight_decay;
  };
  EXPECT_EQ(decay("translate", "adamw"), 0.01);
  EXPECT_EQ(decay("translate", "adamw", 0), 0);
  EXPECT_EQ(decay("translate", "adamw", 0.3), 0.3);
  EXPECT_EQ(decay("translate", "adam"), 0);
  EXPECT_EQ(decay("translate", "sgd"), 0);
  EXPECT_EQ(decay("lm", "adamw"), 0.1);
  EXPECT_EQ(decay("lm", "adam"), 0);
  EXPECT_EQ(decay("pixels", "adamw"), 0.1);
}

TEST(ConfigOfARun, AShortRunLeavesItsWarmUp) {
  const auto warmup = [](int64_t steps, int64_t said = -1, const char* schedule = "sqrt") {
    TrainConfig config = enough();
    config.model.preset = "tiny";
    config.train.max_steps = steps, config.train.warmup = said, config.train.schedule = schedule;
    resolve_config(config, 1000);
    check_resolved(config);
    return config.train.warmup;
  };
  EXPECT_EQ(warmup(0), 2000);
  EXPECT_EQ(warmup(20'000), 2000);
  EXPECT_EQ(warmup(8000), 2000);
  EXPECT_EQ(warmup(400), 100);
  EXPECT_EQ(warmup(400, 399, "linear"), 399);
  for (const int64_t steps : {1, 2, 5, 1000}) EXPECT_LT(warmup(steps, -1, "cosine"), steps);
}

TEST(ConfigOfARun, WhatOnlyAResolvedConfigShowsIsRefused) {
  const auto refusal = [](const std::function<void(TrainConfig&)>& change) {
    TrainConfig config = enough();
    change(config);
    resolve_config(config, 10);
    return message_of<Error>([&] { check_resolved(config); });
  };
  TrainConfig good = enough();
  resolve_config(good, 10);
  check_resolved(good);
  EXPECT_NE(refusal([](TrainConfig& c) { c.train.weight_decay = 1; }).find("expected AdamW"), std::string::npos);
  EXPECT_NE(refusal([](TrainConfig& c) { c.train.weight_decay = -0.01; }).find("train.weight_decay is -0.01"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainConfig& c) { c.train.schedule = "linear"; }).find("ends at train.max_steps"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainConfig& c) { c.model.heads = 3; }).find("heads"), std::string::npos);
}

TEST(ConfigOfARun, HeadsThatDoNotDivideAreRefused) {
  TrainConfig config = enough();
  config.model.heads = 3;
  resolve_config(config, 10);
  const std::string message = message_of<Error>([&] { model_config(config, 8, 8); });
  EXPECT_NE(message.find("heads"), std::string::npos) << message;
}

}  // namespace
}  // namespace heed::train
