// Adapters of language models: PEFT's numbers, its files both ways, and what does not fit.
#include "heed/models/lora.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heed/base/random.h"
#include "heed/models/golden.h"
#include "heed/models/quantise.h"
#include "heed/models/test_directories.h"

namespace heed::models {
namespace {

using heed::testing::Golden;
using nlohmann::json;

constexpr const char* kAdapters[] = {"gpt2", "gpt2_attention", "llama", "llama_root"};

std::string golden_folder(const std::string& name) { return std::string(HEED_SOURCE_DIR) + "/tests/golden/" + name; }
std::string adapter_of(const std::string& name) { return golden_folder("lora/" + name); }

TokenBatch batch_of(const Golden& golden) {
  const Shape shape = golden.shape("input.ids");
  return {golden.ints("input.ids"), Spans::dense(shape[0], shape[1])};
}

std::vector<float> logits_of(const Decoder& model, const TokenBatch& batch) {
  const NoGrad no_grad;
  return model.logits(batch, {}).to_vector();
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << "at " << i;
}

// Beside weights that stay in their file, beside others, and merged.
TEST(GoldenLora, LogitsArePefts) {
  for (const char* name : kAdapters) {
    SCOPED_TRACE(name);
    const SafeTensors expected = SafeTensors::open(adapter_of(name) + "/expected.safetensors");
    const StoredTensor& ids = expected.find("input.ids");
    TokenBatch batch{std::vector<int32_t>(static_cast<size_t>(ids.elements())),
                     Spans::dense(ids.shape[0], ids.shape[1])};
    std::memcpy(batch.ids.data(), ids.bytes.data(), ids.bytes.size());
    std::vector<float> wanted(static_cast<size_t>(expected.find("logits").elements()));
    to_f32(expected.find("logits"), wanted.data());
    const std::string base = base_of(adapter_of(name));
    for (const LoadOptions& how : {LoadOptions{.as_stored = true}, LoadOptions{}, LoadOptions{.for_running = true}}) {
      expect_near(logits_of(load_decoder(adapter_of(name), how), batch), wanted, 1e-4f);
      expect_near(logits_of(load_decoder({adapter_of(name), base}, how), batch), wanted, 1e-4f);
      Decoder beside = load_decoder(base, how);
      EXPECT_GT(heed::testing::relative_error(logits_of(beside, batch), wanted), 0.01);
      Lora::load(adapter_of(name), beside).attach(beside);
      expect_near(logits_of(beside, batch), wanted, 1e-4f);
    }
  }
}

TEST(GoldenLora, GradientsArePeftsAndTheBaseHasNone) {
  for (const char* name : kAdapters) {
    SCOPED_TRACE(name);
    Golden golden("lora/" + std::string(name) + "/expected");
    Decoder model = load_decoder(base_of(adapter_of(name)), {.as_stored = true, .frozen = true});
    const Lora lora = Lora::load(adapter_of(name), model);
    lora.attach(model);
    const TokenBatch batch = batch_of(golden);
    const std::vector<int32_t> targets = golden.ints("input.targets");
    const LossResult r = model.loss(batch, targets, {}, {});
    golden.expect(std::vector<float>{r.loss.item()}, "loss");
    r.loss.backward();
    for (const nn::Parameter& p : lora.parameters.list()) golden.expect_grad(p.tensor, p.name);
    EXPECT_EQ(model.parameters.gradients(), nullptr);
    for (const nn::Parameter& p : model.parameters.list()) EXPECT_FALSE(p.tensor.requires_grad()) << p.name;
  }
}

TEST(GoldenLora, WhatCameFromPeftGoesBackAsItWas) {
  for (const char* name : kAdapters) {
    SCOPED_TRACE(name);
    const Decoder model = load_decoder(base_of(adapter_of(name)));
    const Lora lora = Lora::load(adapter_of(name), model);
    const TemporaryFolder folder;
    lora.save(folder.file("."));
    const json theirs = json::parse(content_of(adapter_of(name) + "/adapter_config.json")),
               ours = json::parse(content_of(folder.file("adapter_config.json")));
    for (const auto& [key, value] : ours.items()) {
      if (key == "target_modules") continue;  // by the names of the tensors
      EXPECT_EQ(value, theirs.at(key)) << key;
    }
    const SafeTensors a = SafeTensors::open(adapter_of(name) + "/adapter_model.safetensors"),
                      b = SafeTensors::open(folder.file("adapter_model.safetensors"));
    ASSERT_EQ(a.tensors().size(), b.tensors().size());
    for (const StoredTensor& t : a.tensors()) {
      EXPECT_EQ(b.find(t.name).shape, t.shape);
      EXPECT_TRUE(std::ranges::equal(b.find(t.name).bytes, t.bytes)) << t.name;
    }
    EXPECT_EQ(Lora::load(folder.file("."), model).config.modules, lora.config.modules);
  }
}

// Dropout is of the adapter alone, and of training alone.
TEST(Lora, DropoutIsOnWhatTheAdapterReads) {
  const std::string base = base_of(adapter_of("gpt2"));
  ModelConfig config = read_config(base);
  config.decoder.dropout = {};
  const auto logits = [&](double rate, const nn::Context& context) {
    Decoder model = load_decoder(base, {.frozen = true, .config = &config});
    Lora lora = Lora::load(adapter_of("gpt2"), model);
    lora.config.dropout = rate;
    lora.attach(model);
    const NoGrad no_grad;
    return model.logits({{1, 2, 3, 4}, Spans::dense(1, 4)}, context).to_vector();
  };
  const nn::Context training{.training = true, .seed = 1, .step = 1}, later{.training = true, .seed = 1, .step = 2};
  EXPECT_EQ(logits(0.5, {}), logits(0, {}));
  EXPECT_EQ(logits(0, training), logits(0, {}));
  EXPECT_NE(logits(0.5, training), logits(0, {}));
  EXPECT_EQ(logits(0.5, training), logits(0.5, training));
  EXPECT_NE(logits(0.5, training), logits(0.5, later));
}

// A model whose matrices may be quantised.
Decoder wide_model(const char* kind) {
  ModelConfig c = preset(kind);
  c.decoder.layers = 2, c.decoder.d_model = 64, c.decoder.heads = 4, c.decoder.d_ff = 96;
  if (std::string(kind) == "llama") c.decoder.kv_heads = 2;
  c.decoder.positions.max_length = 24;
  c.vocabulary = 90;
  return Decoder(c, 3);
}

Lora random_adapter(const Decoder& model, const std::vector<std::string>& modules, const std::string& base) {
  LoraConfig config;
  config.rank = 3, config.alpha = 5, config.modules = modules, config.base = base;
  Lora lora(config, model);
  lora.parameters.allocate(1);
  Random random(9);
  for (int64_t i = 0; i < lora.parameters.arena_size(); ++i) lora.parameters.values()[i] = 0.1f * random.normal();
  return lora;
}

TEST(Lora, OfAQuantisedModelIsComputedBesideIt) {
  for (const char* kind : {"gpt2", "llama"}) {
    SCOPED_TRACE(kind);
    const TemporaryFolder plain, small, adapter;
    const Decoder model = wide_model(kind);
    save_decoder(plain.file("."), model);
    QuantisedModel(plain.file("."), {.bits = 8}).save(small.file("."));
    random_adapter(model, {"all"}, "nowhere").save(adapter.file("."));
    const TokenBatch batch{{1, 2, 3, 4, 5, 6, 7}, Spans::dense(1, 7)};
    const std::vector<float> exact = logits_of(load_decoder({adapter.file("."), plain.file(".")}), batch);
    for (const bool as_stored : {true, false}) {
      const std::vector<float> found =
          logits_of(load_decoder({adapter.file("."), small.file(".")}, {.as_stored = as_stored}), batch);
      EXPECT_LT(heed::testing::relative_error(found, exact), 0.03);
      EXPECT_GT(heed::testing::relative_error(logits_of(load_decoder(small.file(".")), batch), exact), 0.1);
    }
    // Gradients pass through it: it is read as numbers then.
    Decoder frozen = load_decoder(small.file("."), {.as_stored = true, .frozen = true});
    const Lora lora = Lora::load(adapter.file("."), frozen);
    lora.attach(frozen);
    const std::vector<int32_t> targets = {2, 3, 4, 5, 6, 7, 8};
    frozen.loss(batch, targets, {}, {}).loss.backward();
    for (const nn::Parameter& p : lora.parameters.list()) {
      const std::vector<float> gradient = p.tensor.grad().to_vector();
      EXPECT_TRUE(std::ranges::any_of(gradient, [](float g) { return g != 0; })) << p.name;
    }
    EXPECT_NE(message_of([&] { QuantisedModel(adapter.file("."), {.bits = 8}); }).find("is an adapter"),
              std::string::npos);
  }
}

TEST(Lora, StartsAsPeftDoes) {
  const Decoder model = wide_model("llama");
  LoraConfig config;
  config.rank = 4;
  Lora one(config, model), same(config, model), other(config, model);
  one.parameters.allocate(1), same.parameters.allocate(1), other.parameters.allocate(2);
  for (const nn::Parameter& p : one.parameters.list()) {
    const std::vector<float> numbers = p.tensor.to_vector();
    EXPECT_EQ(same.parameters[p.name].to_vector(), numbers);
    if (p.name.ends_with("lora_B.weight")) {
      EXPECT_EQ(numbers, std::vector<float>(numbers.size(), 0));
      continue;
    }
    EXPECT_NE(other.parameters[p.name].to_vector(), numbers);
    const float bound = 1 / std::sqrt(64.0f),
                largest = std::abs(*std::ranges::max_element(numbers, {}, [](float x) { return std::abs(x); }));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.9f * bound);
  }
}

TEST(Lora, ModulesByTheirPublishedNames) {
  const Decoder gpt2 = wide_model("gpt2"), llama = wide_model("llama");
  using Names = std::vector<std::string>;
  EXPECT_EQ(lora_modules({}, gpt2), Names{"c_attn"});
  EXPECT_EQ(lora_modules({}, llama), (Names{"q_proj", "v_proj"}));
  EXPECT_EQ(lora_modules({"all"}, gpt2), (Names{"c_attn", "c_proj", "c_fc"}));
  EXPECT_EQ(lora_modules({"all"}, llama),
            (Names{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}));
  EXPECT_EQ(lora_modules({"mlp.c_proj", "c_attn", "c_attn"}, gpt2), (Names{"mlp.c_proj", "c_attn"}));
  const auto maps = [](const Decoder& model, const Names& names) {
    LoraConfig config;
    config.modules = names;
    return Lora(config, model).parameters.list().size() / 2;
  };
  EXPECT_EQ(maps(gpt2, {"c_proj"}), 4u);
  EXPECT_EQ(maps(gpt2, {"mlp.c_proj"}), 2u);
  EXPECT_EQ(maps(gpt2, {"h.1.mlp.c_proj"}), 1u);
  EXPECT_EQ(
      message_of<Error>([&] { lora_modules({"c_atn"}, gpt2); }),
      "[adapter] the model has no linear map 'c_atn', did you mean 'c_attn'? expected some of c_attn, c_proj, c_fc, "
      "or all");
  EXPECT_NE(
      message_of<Error>([&] { lora_modules({"embedding"}, gpt2); }).find("no linear map 'embedding': expected some of"),
      std::string::npos);
  EXPECT_NE(message_of<Error>([&] { lora_modules({"proj"}, llama); }).find("no linear map 'proj'"), std::string::npos);
  // What no library publishes has heed's names.
  ModelConfig own = gpt2.config;
  own.decoder.bias = false;
  EXPECT_EQ(lora_modules({"all"}, Decoder(own, std::nullopt)),
            (Names{"q_proj", "k_proj", "v_proj", "out_proj", "up_proj", "down_proj"}));
}

// A copy of a golden adapter, to damage.
class AdapterCopy {
 public:
  explicit AdapterCopy(const std::string& name = "llama") : base_(base_of(adapter_of(name))) {
    for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
      put_content(folder_.file(file), content_of(adapter_of(name) + "/" + file));
  }
  std::string path() const { return folder_.file("."); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string refusal(const std::string& base = "") const {
    return message_of([&] { load_decoder({path(), base.empty() ? base_ : base}, {.as_stored = true}); });
  }
  std::string refusal(const std::string& key, const json& value) const {
    json config = json::parse(content_of(file("adapter_config.json")));
    const std::string before = config.dump();
    config[key] = value;
    put_content(file("adapter_config.json"), config.dump());
    const std::string message = refusal();
    put_content(file("adapter_config.json"), before);
    return message;
  }

 private:
  TemporaryFolder folder_;
  std::string base_;
};

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\n  expected: " << part;
}

TEST(Lora, WhatIsNotComputedIsRefusedByItsKey) {
  const AdapterCopy copy;
  expect_part(copy.refusal("peft_type", "IA3"), "'peft_type' is 'IA3': not supported, expected LORA");
  expect_part(copy.refusal("use_dora", true), "'use_dora' is true: not supported");
  expect_part(copy.refusal("bias", "all"), "'bias' is 'all': not supported, expected none");
  expect_part(copy.refusal("task_type", "SEQ_CLS"), "'task_type' is 'SEQ_CLS'");
  expect_part(copy.refusal("rank_pattern", {{"q_proj", 4}}), "'rank_pattern' is an object: not supported");
  expect_part(copy.refusal("modules_to_save", {"lm_head"}), "'modules_to_save' is a list: not supported");
  expect_part(copy.refusal("init_lora_weights", "pissa"), "'init_lora_weights' is 'pissa': not supported, it changes");
  expect_part(copy.refusal("r", 0), "'r' is 0, expected a rank of 1 to 16384");
  expect_part(copy.refusal("r", "8"), "'r' is \"8\", expected a whole number");
  expect_part(copy.refusal("r", 3), "lora_A.weight (2, 24), expected (3, 24)");
  expect_part(copy.refusal("lora_alpha", nullptr), "'lora_alpha' is null, expected a number");
  expect_part(copy.refusal("lora_dropout", 1.5), "'lora_dropout' is 1.5");
  expect_part(copy.refusal("target_modules", {1}), "'target_modules' holds 1, expected names");
  expect_part(copy.refusal("base_model_name_or_path", 7), "'base_model_name_or_path' is 7, expected a name");
}

TEST(Lora, FilesThatDoNotFitAreOneLine) {
  const AdapterCopy copy;
  expect_part(copy.refusal(golden_folder("decoders/gpt2")),
              "12 unexpected: base_model.model.model.layers.0.mlp.down_proj");
  expect_part(copy.refusal(golden_folder("decoders/llama_tied")), "2 misshapen");  // as many key heads as heads
  expect_part(copy.refusal(golden_folder("decoders/none")), "is no folder, expected a model directory");
  expect_part(message_of([&] { load_decoder(copy.path()); }),
              "is an adapter of '../../decoders/llama', which is no folder here: expected its base_model_name_or_path");
  EXPECT_EQ(message_of<Error>([&] {
              read_config({golden_folder("decoders/gpt2"), "x"});
            }),
            "[model] '" + golden_folder("decoders/gpt2") + "' is no adapter: a base is expected of adapters alone");
  const std::string config = content_of(copy.file("adapter_config.json"));
  for (const std::string& damaged : {config.substr(0, config.size() / 2), std::string(), std::string("[]")}) {
    put_content(copy.file("adapter_config.json"), damaged);
    expect_part(copy.refusal(), "adapter_config.json' is no JSON object");
  }
  put_content(copy.file("adapter_config.json"), "{}");
  expect_part(copy.refusal(), "'peft_type' is missing");
  json unnamed = json::parse(config);
  unnamed["base_model_name_or_path"] = nullptr;
  put_content(copy.file("adapter_config.json"), unnamed.dump());
  expect_part(message_of([&] { load_decoder(copy.path()); }), "names no base: expected one in its adapter_config.json");
  const std::string weights = content_of(copy.file("adapter_model.safetensors"));
  put_content(copy.file("adapter_model.safetensors"), weights.substr(0, weights.size() - 9));
  EXPECT_NE(copy.refusal(), "");
  write_safetensors(copy.file("adapter_model.safetensors"), {});
  expect_part(copy.refusal(), "holds no tensors");
  std::filesystem::remove(copy.file("adapter_model.safetensors"));
  expect_part(copy.refusal(), "no such file");
  put_content(copy.file("adapter_model.bin"), "");
  expect_part(copy.refusal(), "has only adapter_model.bin");
}

TEST(Lora, NumbersThatAreNoneAreRefused) {
  const AdapterCopy copy;
  const Decoder model = load_decoder(golden_folder("decoders/llama"));
  Lora lora = Lora::load(copy.path(), model);
  lora.parameters.values()[5] = std::nanf("");
  lora.save(copy.path());
  expect_part(copy.refusal(), "holds nan, expected finite numbers");
}

}  // namespace
}  // namespace heed::models
