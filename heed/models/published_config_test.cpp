// config.json of GPT-2, LLaMA and their kin: a key that changes what is computed is honoured, or refused by its name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"
#include "heed/models/architecture.h"
#include "heed/models/config_json.h"

namespace heed::models {
namespace {

using nlohmann::json;

json gpt2() {
  return {{"model_type", "gpt2"}, {"vocab_size", 61}, {"n_positions", 24},
          {"n_embd", 32},         {"n_layer", 2},     {"n_head", 4}};
}

json llama(const std::string& type = "llama") {
  return {{"model_type", type},       {"vocab_size", 61},
          {"hidden_size", 32},        {"intermediate_size", 48},
          {"num_hidden_layers", 2},   {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 24}};
}

json with(json config, const json& more) {
  config.update(more);
  return config;
}

ModelConfig read(const json& config) { return parse_config(config.dump(), "[model] 'config.json'").config; }

void expect_refused(const json& config, const std::string& part) {
  const std::string message = message_of([&] { read(config); });
  EXPECT_TRUE(message.starts_with("[model] 'config.json'")) << message;
  EXPECT_NE(message.find(part), std::string::npos) << "found: " << message << "\nexpected: " << part;
}

TEST(PublishedConfig, WhatIsNotSaidIsAsTheirsHasIt) {
  const ModelConfig g = read(gpt2());
  EXPECT_TRUE(g.tie_embeddings && g.decoder.bias && !g.scale_embedding);
  EXPECT_EQ(g.decoder.activation, kernels::Activation::kGeluTanh);
  EXPECT_EQ(g.decoder.d_ff, 128);
  EXPECT_EQ(g.decoder.norm_eps, 1e-5f);
  EXPECT_EQ(g.tokens.start, -1);  // theirs lies beyond these 61
  EXPECT_EQ(g.tokens.eos, -1);
  json plain = llama();
  plain.erase("num_key_value_heads");
  const ModelConfig l = read(plain);
  EXPECT_FALSE(l.tie_embeddings || l.decoder.bias);
  EXPECT_EQ(l.decoder.key_heads(), 4);
  EXPECT_EQ(l.decoder.norm_eps, 1e-6f);
  EXPECT_EQ(l.decoder.positions.rotary_base, 10000);
  EXPECT_EQ(l.decoder.positions.rotary_scale.kind, nn::RotaryScaling::kNone);
}

TEST(PublishedConfig, KeysThatChangeTheNumbersAreHonoured) {
  EXPECT_EQ(read(with(gpt2(), {{"n_inner", 40}})).decoder.d_ff, 40);
  EXPECT_EQ(read(with(gpt2(), {{"n_inner", nullptr}})).decoder.d_ff, 128);
  EXPECT_EQ(read(with(gpt2(), {{"activation_function", "gelu"}})).decoder.activation, kernels::Activation::kGelu);
  EXPECT_EQ(read(with(gpt2(), {{"layer_norm_epsilon", 1e-3}})).decoder.norm_eps, 1e-3f);
  EXPECT_FALSE(read(with(gpt2(), {{"tie_word_embeddings", false}})).tie_embeddings);
  EXPECT_EQ(read(with(llama(), {{"head_dim", 12}})).decoder.head_size(), 12);
  EXPECT_EQ(read(with(llama(), {{"head_dim", 8}})).decoder.head_dim, 0);
  EXPECT_EQ(read(with(llama(), {{"rope_theta", 5e5}})).decoder.positions.rotary_base, 5e5);
  const nn::StackConfig attention = read(with(llama(), {{"attention_bias", true}})).decoder;
  EXPECT_TRUE(attention.bias && attention.biases.attention_out && !attention.biases.feed_forward);
  const nn::StackConfig both = read(with(llama(), {{"attention_bias", true}, {"mlp_bias", true}})).decoder;
  EXPECT_TRUE(both.bias && both.biases.all());
  const json linear = {{"type", "linear"}, {"factor", 2}};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const nn::RotaryScale scale = read(with(llama(), {{key, linear}})).decoder.positions.rotary_scale;
    EXPECT_EQ(scale.kind, nn::RotaryScaling::kLinear);
    EXPECT_EQ(scale.factor, 2);
  }
  EXPECT_EQ(read(with(llama(), {{"rope_parameters", {{"rope_theta", 7.0}}}})).decoder.positions.rotary_base, 7);
  EXPECT_EQ(read(with(llama(), {{"rope_scaling", {{"rope_type", "default"}}}})).decoder.positions.rotary_scale.kind,
            nn::RotaryScaling::kNone);
  const nn::BiasConfig qwen2 = read(llama("qwen2")).decoder.biases;
  EXPECT_TRUE(qwen2.attention_in && !qwen2.attention_out && !qwen2.feed_forward);
  EXPECT_FALSE(read(with(llama("mistral"), {{"sliding_window", nullptr}})).decoder.bias);
}

TEST(PublishedConfig, WhatHeedDoesNotComputeIsRefusedByItsKey) {
  expect_refused(with(gpt2(), {{"scale_attn_weights", false}}), "'scale_attn_weights' is false: not supported");
  expect_refused(with(gpt2(), {{"scale_attn_by_inverse_layer_idx", true}}), "layer_idx' is true");
  expect_refused(with(gpt2(), {{"add_cross_attention", true}}), "'add_cross_attention' is true");
  expect_refused(with(gpt2(), {{"pruned_heads", {{"0", {1}}}}}), "'pruned_heads' is an object: not supported");
  expect_refused(with(gpt2(), {{"activation_function", "quick_gelu"}}), "'activation_function': unknown 'quick_gelu'");
  expect_refused(with(gpt2(), {{"quantization_config", {{"bits", 4}}}}), "'quantization_config' is an object");
  for (const char* kind : {"dynamic", "yarn", "longrope", "su"}) {
    expect_refused(with(llama(), {{"rope_scaling", {{"type", kind}, {"factor", 2.0}}}}),
                   "'rope_scaling': rotary positions of kind '" + std::string(kind) + "': not supported");
  }
  expect_refused(with(llama(), {{"rope_scaling", {{"type", "linear"}}}}), "'rope_scaling': 'factor' is missing");
  expect_refused(with(llama(), {{"rope_scaling", {{"type", "linear"}, {"factor", 0}}}}), "rotary factor is 0");
  expect_refused(with(llama(), {{"rope_scaling", {{"type", "llama3"}, {"factor", 2}}}}), "low_freq_factor' is miss");
  expect_refused(with(llama(), {{"rope_scaling", 3}}), "'rope_scaling' is 3, expected an object");
  expect_refused(with(llama(), {{"rope_parameters", {{"full_attention", json::object()}}}}),
                 "'rope_parameters': 'full_attention' is an object: not supported");
  expect_refused(with(llama(), {{"partial_rotary_factor", 0.5}}), "'partial_rotary_factor' is 0.5: not supported");
  expect_refused(with(llama(), {{"sliding_window", 16}}), "'sliding_window' is 16, below the context of 24");
  expect_refused(with(llama("qwen2"), {{"use_sliding_window", true}, {"sliding_window", 16}}), "window' is 16");
  expect_refused(with(llama("mistral"), {{"max_position_embeddings", 8192}}), "'sliding_window' is 4096");
  expect_refused(with(llama("qwen2"), {{"layer_types", {"full_attention", "sliding_attention"}}}), "types' holds");
  expect_refused(with(llama(), {{"hidden_act", "mish"}}), "'hidden_act': unknown 'mish'");
}

TEST(PublishedConfig, AWrongValueIsRefusedByItsKey) {
  for (const json& good : {gpt2(), llama(), llama("qwen2")}) {
    for (const auto& [key, value] : good.items()) {
      if (key == "model_type") continue;
      for (const json& wrong : {json(true), json::array({1}), json(-1.5), json("7")}) {
        expect_refused(with(good, {{key, wrong}}), "'" + key + "' is ");
      }
      if (key == "num_key_value_heads") continue;  // LLaMA's default
      json without = good;
      without.erase(key);
      expect_refused(without, "'" + key + "' is missing");
    }
  }
  for (const int wrong : {0, -1}) {
    const std::string expected = "' is " + std::to_string(wrong) + ", expected a whole number above 0";
    for (const char* key : {"vocab_size", "n_embd", "n_head", "n_inner", "n_positions"})
      expect_refused(with(gpt2(), {{key, wrong}}), key + expected);
    for (const char* type : {"llama", "qwen2", "mistral"}) {
      for (const char* key : {"vocab_size", "hidden_size", "num_attention_heads", "intermediate_size",
                              "num_key_value_heads", "max_position_embeddings", "head_dim"}) {
        expect_refused(with(llama(type), {{key, wrong}}), key + expected);
      }
    }
  }
  expect_refused(with(gpt2(), {{"n_head", 5}}), "32 features by 5 heads");
  expect_refused(with(llama(), {{"num_key_value_heads", 3}}), "4 heads over 3 key heads");
  expect_refused(with(llama(), {{"head_dim", 7}}), "rotary positions turn pairs");
  expect_refused(with(llama(), {{"eos_token_id", {1, "2"}}}), "'eos_token_id' holds \"2\", expected ids");
  expect_refused(with(llama(), {{"bos_token_id", 1.5}}), "'bos_token_id' is 1.5, expected an id");
}

TEST(PublishedConfig, IdsThatAreNotSaidAreAsTheirsHasThem) {
  const auto expect = [](const json& config, int32_t start, int32_t eos) {
    const TokenIds ids = read(config).tokens;
    EXPECT_EQ(ids.start, start) << config;
    EXPECT_EQ(ids.eos, eos) << config;
    EXPECT_TRUE(ids.more_ends.empty()) << config;
  };
  expect(llama(), 1, 2);
  expect(with(llama("mistral"), {{"sliding_window", nullptr}}), 1, 2);
  expect(llama("qwen2"), -1, -1);
  expect(with(llama(), {{"vocab_size", 2}}), 1, -1);
  expect(with(gpt2(), {{"vocab_size", 50257}}), 50256, 50256);
  // Null is none, and what is said counts.
  expect(with(llama(), {{"bos_token_id", nullptr}}), -1, 2);
  expect(with(llama(), {{"eos_token_id", nullptr}}), 1, -1);
  expect(with(llama(), {{"bos_token_id", 7}, {"eos_token_id", {8}}}), 7, 8);
}

TEST(PublishedConfig, IdsBeyondTheVocabularyAreNone) {
  const json some = {{"bos_token_id", 61}, {"eos_token_id", {99, 5, 6, 5}}, {"pad_token_id", -1}};
  const TokenIds ids = read(with(llama(), some)).tokens;
  EXPECT_EQ(ids.start, -1);
  EXPECT_EQ(ids.eos, 5);
  EXPECT_EQ(ids.more_ends, std::vector<int32_t>{6});
  EXPECT_EQ(ids.pad, -1);
}

}  // namespace
}  // namespace heed::models
