// The config as people write it: every key both ways, and every mistake named with its place.
#include "heed/train/config.h"

#include <set>

#include "heed/io/test_files.h"
#include "heed/train/bleu_tokenizer.h"

namespace heed::train {
namespace {

std::string refused(const std::string& toml) {
  TrainConfig config;
  return message_of<Error>([&] { read_config_text(config, toml, "run.toml"); });
}

std::string set_refused(const std::string& assignment) {
  TrainConfig config;
  const std::string before = config_text(config);
  const std::string message = message_of<Error>([&] { set_config(config, assignment); });
  EXPECT_EQ(config_text(config), before) << assignment;
  return message;
}

TrainConfig set_to(const std::string& assignment) {
  TrainConfig config;
  set_config(config, assignment);
  return config;
}

// A value that is not the default, within what the field takes.
struct Change {
  const ConfigField& field;
  void operator()(int64_t* value) const {
    *value = *value + 1 <= static_cast<int64_t>(field.most) ? *value + 1 : *value - 1;
  }
  void operator()(double* value) const {
    const double other = (std::max(field.least, -0.5) + std::min(field.most, 1.0)) / 3;
    *value = other == *value ? other * 0.7 : other;
  }
  void operator()(bool* value) const { *value = !*value; }
  void operator()(std::optional<bool>* value) const { *value = true; }
  void operator()(std::string* value) const {
    if (field.choices.empty()) {
      *value = "a \"b\" \\ 'c' 한국어\n\t#=[x]";
      return;
    }
    *value = *value == field.choices.back() ? field.choices.front() : field.choices.back();
  }
  void operator()(std::vector<std::string>* value) const { *value = {"one, two", "", "th\"ree']\\", "ünï 한"}; }
};

TEST(Config, EveryFieldRoundTrips) {
  for (const std::string& task : task_names()) {
    TrainConfig changed = default_config(task);
    for (const ConfigField& field : config_fields(changed)) {
      if (std::string_view(field.key) != "task") std::visit(Change{field}, field.value);
    }
    const std::string text = config_text(changed);
    TrainConfig read;
    read_config_text(read, text, "run.toml");
    EXPECT_EQ(config_text(read), text);
    // And none was left out: every key stands there, with another value than at first.
    TrainConfig standard = default_config(task);
    for (const ConfigField& field : config_fields(standard)) {
      const std::string key = field.key, name = "\n" + key.substr(key.find('.') + 1) + " = ";
      if (key == "task") continue;
      const size_t now = text.find(name), was = config_text(standard).find(name);
      ASSERT_NE(now, std::string::npos) << key;
      const auto line = [&](const std::string& in, size_t at) { return in.substr(at, in.find('\n', at + 1) - at); };
      EXPECT_TRUE(was == std::string::npos || line(text, now) != line(config_text(standard), was)) << key;
    }
  }
}

TEST(Config, TheDefaultsRoundTrip) {
  TrainConfig config;
  const std::string text = config_text(config);
  config.train.max_steps = 77;
  read_config_text(config, text, "run.toml");
  EXPECT_EQ(config_text(config), text);
}

TEST(Config, NumbersKeepEveryBit) {
  TrainConfig config;
  for (const double value : {0.1, 1.0 / 3, 1e-9, 5e-324, 123456.0, 0.30000000000000004}) {
    config.train.learning_rate = value / 1000;
    TrainConfig read;
    read_config_text(read, config_text(config), "run.toml");
    EXPECT_EQ(read.train.learning_rate, config.train.learning_rate);
  }
}

TEST(Config, KeysAndFlagsAreOfOneKindEach) {
  for (const std::string& task : task_names()) {
    TrainConfig config = default_config(task);
    std::set<std::string> flags, short_keys;
    const std::vector<ConfigField> fields = config_fields(config);
    for (const ConfigField& field : fields) {
      const std::string key = field.key;
      flags.insert(field.flag()), short_keys.insert(key.substr(key.find('.') + 1));
    }
    EXPECT_EQ(flags.size(), fields.size()) << task;
    EXPECT_EQ(short_keys.size(), fields.size()) << task;
  }
}

TEST(Config, FlagsOfATranslator) {
  TrainConfig config;
  std::set<std::string> keys, flags, short_keys;
  const std::vector<ConfigField> fields = config_fields(config);
  for (const ConfigField& field : fields) {
    const std::string key = field.key;
    keys.insert(key), flags.insert(field.flag()), short_keys.insert(key.substr(key.find('.') + 1));
  }
  EXPECT_EQ(keys.size(), fields.size());
  EXPECT_EQ(flags.size(), fields.size());
  EXPECT_EQ(short_keys.size(), fields.size());
  EXPECT_TRUE(flags.count("--max-steps") && flags.count("--valid-beam") && flags.count("--valid-src") &&
              flags.count("--out"));
}

TEST(Config, ReadsTablesAndDottedKeys) {
  TrainConfig config;
  read_config_text(config,
                   "train.max_epochs = 3\ntrain.seed = 9\ndata = {src = 'a', tgt = ['b', 'c']}\n[model]\ndropout = 0\n",
                   "run.toml");
  EXPECT_EQ(config.train.max_epochs, 3);
  EXPECT_EQ(config.train.seed, 9);
  EXPECT_EQ(config.data.src, std::vector<std::string>{"a"});
  EXPECT_EQ(config.data.tgt, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(config.model.dropout, 0);
}

TEST(Config, AnUnknownKeyComesWithTheNearest) {
  EXPECT_EQ(refused("[train]\nmax_step = 3\n"),
            "[config] run.toml:2:12: unknown key 'train.max_step', did you mean 'train.max_steps'?");
  EXPECT_EQ(refused("droput = 0.1\n"), "[config] run.toml:1:10: unknown key 'droput', did you mean 'dropout'?");
  EXPECT_EQ(set_refused("trian.seed=3"),
            "[config] --set trian.seed=3: unknown key 'trian.seed', did you mean 'train.seed'?");
  EXPECT_EQ(set_refused("zzzzzzzzzzzz=3"), "[config] --set zzzzzzzzzzzz=3: unknown key 'zzzzzzzzzzzz'");
}

TEST(Config, AWrongTypeIsNamedWithLineAndColumn) {
  EXPECT_EQ(refused("[train]\nseed = 1\nmax_steps = \"many\"\n"),
            "[config] run.toml:3:13: train.max_steps is of type string, expected a whole number");
  EXPECT_EQ(refused("train.max_steps = 1.5"),
            "[config] run.toml:1:19: train.max_steps is of type floating-point, expected a whole number");
  EXPECT_EQ(refused("train.clip = true"), "[config] run.toml:1:14: train.clip is of type boolean, expected a number");
  EXPECT_EQ(refused("text.joint = 1"), "[config] run.toml:1:14: text.joint is of type integer, expected true or false");
  EXPECT_EQ(refused("save.out = 1979-05-27"),
            "[config] run.toml:1:12: save.out is of type date, expected a text in quotes");
  EXPECT_EQ(refused("data.src = ['a', 2]"),
            "[config] run.toml:1:12: data.src is of type array, expected a list of texts in quotes");
  EXPECT_EQ(refused("data.src = 2"),
            "[config] run.toml:1:12: data.src is of type integer, expected a text in quotes or a list of them");
}

TEST(Config, WhatIsNoTomlIsNamedWithLineAndColumn) {
  const std::string message = refused("[train]\nmax_steps 3\n");
  EXPECT_TRUE(message.starts_with("[config] run.toml:2:")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_TRUE(refused("seed = 1\nseed = 2\n").starts_with("[config] run.toml:2:"));
  EXPECT_TRUE(refused("out = '\xff\xfe'").starts_with("[config] run.toml:1:"));
  EXPECT_TRUE(refused(std::string(100000, '[')).starts_with("[config] run.toml:1:"));
}

TEST(Config, NumbersHaveARange) {
  EXPECT_EQ(refused("train.smoothing = 1.5"), "[config] run.toml:1:19: train.smoothing is 1.5, expected 0 to 0.999");
  EXPECT_EQ(refused("train.accumulate = 0"), "[config] run.toml:1:20: train.accumulate is 0, expected 1 to 4096");
  EXPECT_TRUE(refused("train.max_steps = -1").find("expected 0 to") != std::string::npos);
  EXPECT_TRUE(refused("train.clip = nan").find("train.clip is nan") != std::string::npos);
  EXPECT_TRUE(refused("train.clip = inf").find("train.clip is inf") != std::string::npos);
  // Whole numbers beyond those that a double holds.
  EXPECT_TRUE(refused("train.clip = 9223372036854775807").find("expected 0 to") != std::string::npos);
  EXPECT_TRUE(refused("train.seed = 9223372036854775807").find("expected 0 to") != std::string::npos);
  TrainConfig config;
  read_config_text(config, "train.clip = 3", "run.toml");
  EXPECT_EQ(config.train.clip, 3);
}

TEST(Config, NamesAreChosenFromAList) {
  EXPECT_EQ(refused("train.optimizer = 'adamm'"),
            "[config] run.toml:1:19: train.optimizer is 'adamm', did you mean 'adam'?");
  const std::string message = refused("valid.metric = 'quality'");
  EXPECT_NE(message.find("valid.metric is 'quality', expected one of bleu, chrf, loss"), std::string::npos) << message;
}

TEST(Config, AssignmentsAreTypedAsPeopleType) {
  EXPECT_EQ(set_to("train.max_steps=100").train.max_steps, 100);
  EXPECT_EQ(set_to("max_steps=1_000").train.max_steps, 1000);
  EXPECT_EQ(set_to("learning_rate=3e-4").train.learning_rate, 3e-4);
  EXPECT_EQ(set_to("clip=5").train.clip, 5);
  EXPECT_EQ(set_to("joint=false").text.joint, false);
  EXPECT_EQ(set_to("save.out=my model").save.out, "my model");
  EXPECT_EQ(set_to("out='quoted'").save.out, "quoted");
  EXPECT_EQ(set_to("out=a=b").save.out, "a=b");
  EXPECT_EQ(set_to("out=2026").save.out, "2026");
  EXPECT_EQ(set_to("out=true").save.out, "true");
  EXPECT_EQ(set_to("bleu_tokens=13a").valid.bleu_tokens, "13a");
  EXPECT_EQ(set_to("src=train.en").data.src, std::vector<std::string>{"train.en"});
  EXPECT_EQ(set_to("src=['a', 'b']").data.src, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(set_to("src=[]").data.src, std::vector<std::string>{});
  EXPECT_EQ(set_to("activation=").model.activation, "");
}

TEST(Config, WrongAssignmentsChangeNothing) {
  EXPECT_EQ(set_refused("max_steps"), "[config] --set max_steps: expected key=value");
  EXPECT_EQ(set_refused("=3"), "[config] --set =3: expected key=value");
  EXPECT_EQ(set_refused("max_steps=ten"),
            "[config] --set max_steps=ten: train.max_steps is of type string, expected a whole number");
  EXPECT_EQ(set_refused("max_steps="),
            "[config] --set max_steps=: train.max_steps is of type string, expected a whole number");
  EXPECT_NE(set_refused("dropout=2").find("model.dropout is 2, expected -1 to 0.999"), std::string::npos);
  EXPECT_NE(set_refused("optimizer=x").find("expected one of adam, adamw, sgd"), std::string::npos);
  EXPECT_EQ(set_refused(std::string("a\nb=") + std::string(1000, 'x')).find('\n'), std::string::npos);
}

TEST(Config, AFileThatIsNoneIsNamed) {
  const TemporaryFolder folder;
  TrainConfig config;
  EXPECT_NE(message_of([&] { read_config_file(config, folder.file("none.toml")); }).find("none.toml"),
            std::string::npos);
  put_content(folder.file("large.toml"), std::string((1 << 20) + 1, '#'));
  EXPECT_NE(message_of([&] { read_config_file(config, folder.file("large.toml")); }).find("it is no config"),
            std::string::npos);
}

// --- What a run needs ---

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

TEST(Config, ChecksWhatARunNeeds) {
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

TEST(Config, WhatHasNoEffectIsRefused) {
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

TEST(Config, ResolvingLeavesNothingOpen) {
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

TEST(Config, AutoFollowsTheData) {
  for (const auto& [pairs, preset] :
       {std::pair(100, "tiny"), std::pair(500'000, "small"), std::pair(5'000'000, "base")}) {
    TrainConfig config = enough();
    const std::string said = resolve_config(config, pairs, {.cores = 16, .native_bf16 = false});
    EXPECT_EQ(config.model.preset, preset);
    EXPECT_NE(said.find(fmt::format("preset {}: {} sentence pairs, 16 cores", preset, pairs)), std::string::npos)
        << said;
  }
}

TEST(Config, AutoFollowsTheMachine) {
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

TEST(Config, PatienceIsOfValidations) {
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

TEST(Config, PresetsHaveTheirShapes) {
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

TEST(Config, DropoutIsThatOfItsPlace) {
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

TEST(Config, WhatThePresetSaysMayBeOverridden) {
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

TEST(Config, NoWarmUpCanBeSaid) {
  TrainConfig config = enough();
  config.model.preset = "tiny";
  EXPECT_EQ(config.train.warmup, -1);
  config.train.warmup = 0;
  resolve_config(config, 10);
  EXPECT_EQ(config.train.warmup, 0);
}

// As PyTorch has it of a translator, as GPT's kind has it of a language model; it stands in the config that is kept.
TEST(Config, AdamWDecaysWhereNothingIsSaid) {
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

TEST(Config, AShortRunLeavesItsWarmUp) {
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

TEST(Config, BleuSplitsInEveryWayThatEvalDoes) {
  for (const std::string& name : bleu_tokens_names()) EXPECT_EQ(set_to("bleu_tokens=" + name).valid.bleu_tokens, name);
}

TEST(Config, WhatOnlyAResolvedConfigShowsIsRefused) {
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

TEST(Config, HeadsThatDoNotDivideAreRefused) {
  TrainConfig config = enough();
  config.model.heads = 3;
  resolve_config(config, 10);
  const std::string message = message_of<Error>([&] { model_config(config, 8, 8); });
  EXPECT_NE(message.find("heads"), std::string::npos) << message;
}

}  // namespace
}  // namespace heed::train
