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

TEST(Config, BleuSplitsInEveryWayThatEvalDoes) {
  for (const std::string& name : bleu_tokens_names()) EXPECT_EQ(set_to("bleu_tokens=" + name).valid.bleu_tokens, name);
}

}  // namespace
}  // namespace heed::train
