// Adapters trained beside a model that stays as it is: what they learn, what they leave, and what is refused.
#include "heed/models/lora.h"

#include <cmath>

#include "heed/models/directory.h"
#include "heed/train/lm_learner.h"
#include "heed/train/run.h"
#include "heed/train/test_run.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

// A model of one text, and another text to adapt it to.
class LoraRun : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    TrainConfig first = tiny_run("lm", folder_);
    first.model.arch = GetParam(), first.save.out = base_;
    first.train.max_steps = 100, first.valid.every = 100;  // what has learned nothing has nothing to adapt
    put_text("hgfedcba");
    if (llama()) first.model.kv_heads = 1;
    run_training(first, {}, listener_, [] { return false; });
    base_bits_ = content_of(base_ + "/model.safetensors");
    put_text("abcdefgh");
    config_.model = {}, config_.text = {};  // the base has its own
    config_.model.preset = "tiny", config_.model.from = base_, config_.model.lora = 3;
    config_.save.out = folder_.file("tuned");
  }
  void TearDown() override { EXPECT_EQ(content_of(base_ + "/model.safetensors"), base_bits_); }

  void put_text(const std::string& letters) const {
    std::string text;
    for (int i = 0; i < 100; ++i) text += letters;
    put_content(folder_.file("train.data"), text);
    put_content(folder_.file("valid.data"), text.substr(0, 80));
  }
  bool llama() const { return std::string(GetParam()) == "llama"; }
  RunResult run(
      const RunOptions& options = {}, const std::function<bool()>& stop = [] { return false; }) {
    listener_ = {};
    return run_training(config_, options, listener_, stop);
  }
  std::string refusal(const std::function<void(TrainConfig&)>& change) {
    const TrainConfig before = config_;
    change(config_);
    const std::string message = message_of<Error>([&] { run({.overwrite = true}); });
    config_ = before;
    return message;
  }
  double best_loss() const {
    double best = INFINITY;
    for (const ValidationReport& r : listener_.validations) best = std::min(best, r.loss);
    return best;
  }
  std::string in_out(const char* name) const { return config_.save.out + "/" + name; }
  static std::vector<float> logits(const models::Decoder& model) {
    const NoGrad no_grad;
    return model.logits({{3, 4, 5, 6, 3, 5, 7}, Spans::dense(1, 7)}, {}).to_vector();
  }

  TemporaryFolder folder_;
  const std::string base_ = folder_.file("base");
  std::string base_bits_;
  TrainConfig config_ = tiny_run("lm", folder_);
  Listener listener_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, LoraRun, testing::Values("gpt2", "llama"), [](const auto& p) { return p.param; });

TEST_P(LoraRun, LearnsWhileTheBaseStaysAsItIs) {
  config_.train.max_steps = 120, config_.valid.every = 40, config_.model.lora_modules = {"all"};
  run();
  EXPECT_EQ(listener_.validations.back().texts.size(), 1u);
  // PEFT's files, and none of a model.
  EXPECT_TRUE(models::is_adapter(config_.save.out));
  EXPECT_FALSE(fs::exists(in_out("config.json")));
  const models::Decoder tuned = models::load_decoder(config_.save.out, {.as_stored = true}),
                        start = models::load_decoder(base_, {.as_stored = true});
  const models::Lora lora = models::Lora::load(config_.save.out, tuned);
  EXPECT_EQ(lora.config.alpha, 6);
  EXPECT_EQ(lora.config.base, fs::absolute(base_).string());
  EXPECT_NE(logits(tuned), logits(start));
  const data::TextStore valid = data::TextStore::open(in_out("training/valid.ids"));
  const auto loss = [&](const models::Decoder& model) {
    return text_loss(model, valid, data::cut_in_blocks(valid, 12, true), {model.config.tokens.start, true}, 240);
  };
  EXPECT_LT(loss(tuned), 0.5 * loss(start));
  // What was measured is what is there.
  EXPECT_NEAR(loss(tuned), best_loss(), 1e-9);
  // A checkpoint holds the adapter and its moments, no more.
  const SafeTensors saved = SafeTensors::open(in_out("training/checkpoint-120.safetensors"));
  for (const StoredTensor& t : saved.tensors()) EXPECT_EQ(t.elements(), lora.parameters.count()) << t.name;
}

TEST_P(LoraRun, MergedIsTheSameModel) {
  config_.train.max_steps = 30, config_.valid.every = 10;
  run();
  const std::vector<float> apart = logits(models::load_decoder(config_.save.out, {.as_stored = true}));
  // In place of the one before, of which nothing is left.
  config_.model.lora_merge = true;
  run({.overwrite = true});
  EXPECT_FALSE(fs::exists(in_out("adapter_config.json")));
  EXPECT_FALSE(fs::exists(in_out("adapter_model.safetensors")));
  EXPECT_EQ(models::model_type(models::read_config(config_.save.out)), GetParam());
  const std::vector<float> merged = logits(models::load_decoder(config_.save.out));
  for (size_t i = 0; i < apart.size(); ++i) ASSERT_NEAR(merged[i], apart[i], 1e-4);
  EXPECT_NE(merged, logits(models::load_decoder(base_)));
  config_.model.lora_merge = false;
  run({.overwrite = true});
  EXPECT_FALSE(fs::exists(in_out("model.safetensors")));
  EXPECT_TRUE(models::is_adapter(config_.save.out));
}

TEST_P(LoraRun, StoppedAndResumedAtAnyNumberOfThreadsItIsTheSame) {
  config_.model.lora_dropout = 0.3, config_.train.average_decay = 0.8;
  run({.verify_resume = true});
  const std::string whole = content_of(in_out("adapter_model.safetensors"));
  ASSERT_FALSE(whole.empty());
  const int before = num_threads();
  int threads = 1;
  for (const int64_t stop : {1, 4, 6}) {
    config_.save.out = folder_.file("stopped" + std::to_string(stop));
    set_num_threads(threads = 3 - threads);
    // Asked while it reads, too: only steps are counted.
    run({}, [&] { return static_cast<int64_t>(listener_.steps.size()) >= stop; });
    set_num_threads(3 - threads);
    EXPECT_EQ(run({.resume = true}).state.step, 6);
    EXPECT_TRUE(content_of(in_out("adapter_model.safetensors")) == whole) << stop;
  }
  set_num_threads(before);
}

TEST_P(LoraRun, AnotherBaseIsNotGoneOnFrom) {
  run();
  std::string other = base_bits_;
  other.back() ^= 1;
  put_content(base_ + "/model.safetensors", other);
  const std::string message = message_of([&] { run({.resume = true}); });
  EXPECT_NE(message.find("the data changed since the run was saved: '" + base_ + "/model.safetensors'"),
            std::string::npos)
      << message;
  put_content(base_ + "/model.safetensors", base_bits_);
  EXPECT_EQ(run({.resume = true}).state.step, 6);
}

// All weights, from where the adapter has them; and a tokenizer that only the base has.
TEST_P(LoraRun, AModelGoesOnFromAnAdapter) {
  config_.train.max_steps = 30, config_.valid.every = 10;
  run();
  const double best = best_loss();
  fs::remove(in_out("char_tokenizer.json"));
  config_.model.from = config_.save.out, config_.model.lora = -1, config_.model.context = 12;
  config_.train.learning_rate = 1e-9, config_.save.out = folder_.file("next");
  run();
  EXPECT_NEAR(listener_.validations.front().loss, best, 1e-4);
  EXPECT_TRUE(fs::exists(in_out("model.safetensors")));
  EXPECT_NE(refusal([&](TrainConfig& c) { c.model.lora = 2; }).find("is an adapter: expected the model that it"),
            std::string::npos);
}

TEST_P(LoraRun, WhatDoesNotGoTogetherIsRefused) {
  const auto expect = [&](const std::string& part, const std::function<void(TrainConfig&)>& change) {
    const std::string message = refusal(change);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(config_.save.out)) << message;
  };
  expect("model.lora is 3 without model.from: expected a model to adapt (--from MODEL)",
         [](TrainConfig& c) { c.model.from = ""; });
  expect("model.lora is 0: expected a rank", [](TrainConfig& c) { c.model.lora = 0; });
  expect("model.lora is -2, expected -1 to 16384", [](TrainConfig& c) { c.model.lora = -2; });
  expect("model.lora is 100000, expected -1 to 16384", [](TrainConfig& c) { c.model.lora = 100000; });
  expect("model.lora is 17: expected a rank of 1 to 16, the features of '", [](TrainConfig& c) { c.model.lora = 17; });
  expect("model.lora_alpha is said without model.lora",
         [](TrainConfig& c) { c.model.lora = -1, c.model.lora_alpha = 3; });
  expect("model.lora_merge is said without", [](TrainConfig& c) { c.model.lora = -1, c.model.lora_merge = true; });
  expect("model.lora_dropout is 1.5, expected 0 to 0.999", [](TrainConfig& c) { c.model.lora_dropout = 1.5; });
  expect(llama() ? "no linear map 'q_prj', did you mean 'q_proj'?" : "no linear map 'q_prj': expected some of c_attn",
         [](TrainConfig& c) { c.model.lora_modules = {"q_prj"}; });
  expect("text.tokenizer is said, and '" + base_ + "' of model.from has its own",
         [](TrainConfig& c) { c.text.tokenizer = "char"; });
  expect("model.arch is said, and", [](TrainConfig& c) { c.model.arch = "llama"; });
  expect("text.vocabulary is said, and", [](TrainConfig& c) { c.text.vocabulary = 300; });
  expect("is no folder", [](TrainConfig& c) { c.model.from = "nowhere"; });
  // An adapter has no config of its own to say so.
  expect(llama() ? "model.context is 13, and an adapter has that of '" + base_ + "': expected 12 at most, or model.lora"
                 : "has positions for 12",
         [](TrainConfig& c) { c.model.context = 13; });
}

TEST_P(LoraRun, NamesMayStandInOneText) {
  config_.model.lora_modules = {llama() ? "o_proj,v_proj" : "mlp.c_proj,c_attn", "all"};
  config_.model.lora_alpha = 1;
  const std::vector<std::string> names =
      llama() ? std::vector<std::string>{"o_proj", "v_proj", "q_proj", "k_proj", "gate_proj", "up_proj", "down_proj"}
              : std::vector<std::string>{"mlp.c_proj", "c_attn", "c_proj", "c_fc"};
  check_config(config_);
  resolve_config(config_, 1000);
  EXPECT_EQ(config_.model.lora_modules, names);
  const std::string once = config_text(config_);
  resolve_config(config_, 1000);
  EXPECT_EQ(config_text(config_), once);
  EXPECT_EQ(lora_config(config_).alpha, 1);
}

}  // namespace
}  // namespace heed::train
