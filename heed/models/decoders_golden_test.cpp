// Directories of GPT-2, LLaMA and their kin that transformers wrote: logits, loss and every gradient, and the way back.
#include <gtest/gtest.h>

#include <cstring>

#include "heed/io/sharded_tensors.h"
#include "heed/models/config_json.h"
#include "heed/models/golden.h"
#include "heed/models/test_directories.h"

namespace heed::models {
namespace {

using heed::testing::Golden;
using nlohmann::json;

struct Published {
  const char *name, *written_as;
};
const Published kPublished[] = {{"gpt2", "gpt2"},          {"gpt2_untied", "gpt2"},   {"gpt2_old", "gpt2"},
                                {"llama", "llama"},        {"llama_tied", "llama"},   {"llama_biases", "llama"},
                                {"llama_linear", "llama"}, {"llama_llama3", "llama"}, {"llama_attention_bias", "llama"},
                                {"qwen2", "qwen2"},        {"mistral", "llama"}};

std::string folder_of(const std::string& name) {
  return std::string(HEED_SOURCE_DIR) + "/tests/golden/decoders/" + name;
}

TokenBatch batch_of(const Golden& golden) {
  const Shape shape = golden.shape("input.ids");
  return {golden.ints("input.ids"), Spans::dense(shape[0], shape[1])};
}

// Gradients go the way of the weights: written under the published names, they are theirs.
TEST(GoldenDecoders, LogitsAndGradientsAreTheirs) {
  for (const Published& p : kPublished) {
    SCOPED_TRACE(p.name);
    Golden golden("decoders/" + std::string(p.name) + "/expected");
    const Decoder model = load_decoder(folder_of(p.name));
    const Decoder running = load_decoder(folder_of(p.name), {.for_running = true});
    const std::vector<float> wanted = golden.floats("logits");
    for (const Decoder* m : {&model, &running}) {
      const NoGrad no_grad;
      const std::vector<float> logits = m->logits(batch_of(golden), {}).to_vector();
      golden.expect(logits, "logits");
      for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(logits[i], wanted[i], 1e-4);
    }
    const TokenBatch batch = batch_of(golden);
    const std::vector<int32_t> targets = golden.ints("input.targets");
    const LossResult r = model.loss(batch, targets, {}, {});
    golden.expect(std::vector<float>{r.loss.item()}, "loss");
    r.loss.backward();
    model.parameters.finish_gradients();
    const Decoder gradients(model.config, 1);
    std::copy_n(model.parameters.gradients(), model.parameters.arena_size(), gradients.parameters.values());
    const TemporaryFolder folder;
    save_decoder(folder.file("."), gradients);
    const SafeTensors written = SafeTensors::open(folder.file("model.safetensors"));
    for (const StoredTensor& tensor : written.tensors()) {
      std::vector<float> found(static_cast<size_t>(tensor.elements()));
      to_f32(tensor, found.data());
      golden.expect(found, "grad." + tensor.name);
    }
  }
}

TEST(GoldenDecoders, WhatCameFromTransformersGoesBackAsItWas) {
  for (const Published& p : kPublished) {
    SCOPED_TRACE(p.name);
    const TemporaryFolder first, second;
    const Decoder model = load_decoder(folder_of(p.name));
    save_decoder(first.file("."), model);
    EXPECT_EQ(json::parse(content_of(first.file("config.json")))["model_type"], p.written_as);
    EXPECT_EQ(model_type(model.config), p.written_as);
    const Decoder again = load_decoder(first.file("."));
    EXPECT_EQ(heed_json(again.config), heed_json(model.config));
    save_decoder(second.file("."), again);
    for (const char* file : {"config.json", "generation_config.json", "model.safetensors"}) {
      EXPECT_EQ(content_of(first.file(file)), content_of(second.file(file))) << file;
    }
    // Number for number what theirs stored, under the same names.
    const ShardedTensors theirs = ShardedTensors::open(folder_of(p.name)), ours = ShardedTensors::open(first.file("."));
    for (const auto& [name, tensor] : ours.tensors()) {
      const StoredTensor* stored = theirs.find(name);
      if (stored == nullptr) stored = theirs.find(name.substr(std::string("transformer.").size()));
      ASSERT_NE(stored, nullptr) << name;
      EXPECT_EQ(stored->shape, tensor->shape) << name;
      std::vector<float> a(static_cast<size_t>(tensor->elements())), b(static_cast<size_t>(stored->elements()));
      to_f32(*tensor, a.data()), to_f32(*stored, b.data());
      EXPECT_EQ(a, b) << name;
    }
  }
}

TEST(GoldenDecoders, TheirConfigsAreUnderstood) {
  const ModelConfig llama = read_config(folder_of("llama")), linear = read_config(folder_of("llama_linear")),
                    three = read_config(folder_of("llama_llama3")), untied = read_config(folder_of("gpt2_untied"));
  EXPECT_EQ(llama.family, Family::kDecoder);
  EXPECT_EQ(llama.decoder.kv_heads, 2);
  EXPECT_EQ(llama.tokens.start, 1);
  EXPECT_EQ(llama.tokens.eos, 2);
  EXPECT_EQ(llama.tokens.more_ends, std::vector<int32_t>{5});
  EXPECT_EQ(linear.decoder.positions.rotary_scale.kind, nn::RotaryScaling::kLinear);
  EXPECT_EQ(linear.decoder.positions.rotary_scale.factor, 4);
  EXPECT_EQ(three.decoder.positions.rotary_scale.original_length, 12);
  EXPECT_EQ(three.decoder.positions.rotary_base, 500);
  EXPECT_EQ(three.decoder.head_size(), 8);
  EXPECT_FALSE(untied.tie_embeddings);
  EXPECT_EQ(untied.decoder.d_ff, 24);
  EXPECT_EQ(untied.decoder.activation, kernels::Activation::kGelu);
}

// Every shape of a decoder that heed trains comes back to the bit, as what theirs can be or as heed's own.
TEST(GoldenDecoders, EveryShapeSurvivesToTheBit) {
  struct Case {
    const char *preset, *type;
    std::function<void(ModelConfig&)> change;
  };
  const std::vector<Case> cases = {
      {"gpt2", "gpt2", [](ModelConfig&) {}},
      {"gpt2", "gpt2", [](ModelConfig& c) { c.tie_embeddings = false; }},
      {"gpt2", "gpt2",
       [](ModelConfig& c) {
         c.decoder.dropout = {0.25f, 0.125f, 0.5f, 0};
       }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.bias = false; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.norm_bias = false; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.biases.feed_forward = false; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.positions.kind = nn::PositionKind::kRotary; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.kv_heads = 1; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.norm_place = nn::NormPlace::kPost; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.decoder.gated = true; }},
      {"gpt2", "heed", [](ModelConfig& c) { c.output_bias = true; }},
      {"llama", "llama", [](ModelConfig&) {}},
      {"llama", "llama", [](ModelConfig& c) { c.decoder.kv_heads = 2, c.tie_embeddings = false; }},
      {"llama", "llama", [](ModelConfig& c) { c.decoder.head_dim = 6, c.decoder.bias = true; }},
      {"llama", "llama",
       [](ModelConfig& c) {
         c.decoder.dropout = {0.25f, 0.125f, 0.5f, 0};
       }},
      {"llama", "llama",
       [](ModelConfig& c) {
         c.tokens = {3, 4, -1, -1, {5, 6}};
       }},
      {"llama", "qwen2",
       [](ModelConfig& c) {
         c.decoder.bias = true, c.decoder.biases = {true, false, false};
       }},
      {"llama", "heed",
       [](ModelConfig& c) {
         c.decoder.bias = true, c.decoder.biases = {true, false, true};
       }},
      {"llama", "heed", [](ModelConfig& c) { c.decoder.positions.rotary_interleaved = true; }},
      {"llama", "heed", [](ModelConfig& c) { c.scale_embedding = true; }},
      {"llama", "heed", [](ModelConfig& c) { c.decoder.norm = nn::NormKind::kLayer; }},
  };
  uint64_t seed = 1;
  for (const Case& test : cases) {
    SCOPED_TRACE(seed);
    ModelConfig config = preset(test.preset);
    nn::StackConfig& s = config.decoder;
    s.layers = 2, s.d_model = 16, s.heads = 4, s.d_ff = 24, s.positions.max_length = 24;
    if (s.kv_heads > 0) s.kv_heads = 4;
    config.vocabulary = 20;
    config.tokens = {1, 2, 0, -1, {}};
    test.change(config);
    const Decoder model(config, seed++);
    const TemporaryFolder folder;
    save_decoder(folder.file("."), model);
    EXPECT_EQ(json::parse(content_of(folder.file("config.json")))["model_type"], test.type);
    const Decoder again = load_decoder(folder.file("."));
    EXPECT_EQ(heed_json(again.config), heed_json(model.config));
    ASSERT_EQ(again.parameters.arena_size(), model.parameters.arena_size());
    EXPECT_EQ(std::memcmp(again.parameters.values(), model.parameters.values(),
                          static_cast<size_t>(model.parameters.arena_size()) * sizeof(float)),
              0);
  }
}

TEST(GoldenDecoders, ATranslatorIsNone) {
  EXPECT_NE(message_of([] { load_decoder(golden_marian("shared_relu")); }).find("is no language model"),
            std::string::npos);
  EXPECT_NE(message_of([] { load_translator(folder_of("gpt2")); }).find("is no translator"), std::string::npos);
}

}  // namespace
}  // namespace heed::models
