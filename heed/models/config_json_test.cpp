// Descriptions of models as JSON: both ways, and everything that can be wrong with one.
#include "heed/models/config_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/io/test_files.h"

namespace heed::models {
namespace {

using nlohmann::json;

json marian() {
  return json::parse(content_of(std::string(HEED_SOURCE_DIR) + "/tests/golden/marian/shared_relu/config.json"));
}

json heed_own() {
  ModelConfig c = preset("tiny");
  c.encoder.gated = true;
  json j = heed_json(c);
  j["model_type"] = "heed";
  return j;
}

std::string refusal(const std::string& text) {
  const std::string message = message_of([&] { parse_config(text, "[model] 'config.json'"); });
  EXPECT_TRUE(message.starts_with("[model] 'config.json'")) << message;
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

void expect_refused(json config, const json& pointer_and_value, const std::string& part) {
  for (const auto& [pointer, value] : pointer_and_value.items()) config[json::json_pointer(pointer)] = value;
  const std::string message = refusal(config.dump());
  EXPECT_NE(message.find(part), std::string::npos) << "found: " << message << "\nexpected: " << part;
}

TEST(ConfigJson, BothKindsAreReadBack) {
  EXPECT_EQ(parse_config(marian().dump(), "x").type, "marian");
  const ParsedConfig own = parse_config(heed_own().dump(), "x");
  EXPECT_EQ(own.type, "heed");
  EXPECT_TRUE(own.config.encoder.gated);
  // How long the lines of a training were is written where it is known, and may be missing.
  for (json config : {marian(), heed_own()}) {
    EXPECT_EQ(parse_config(config.dump(), "x").config.trained_length, 0);
    config[json::json_pointer(config["model_type"] == "heed" ? "/trained/length" : "/heed/trained_length")] = 24;
    EXPECT_EQ(parse_config(config.dump(), "x").config.trained_length, 24);
  }
  for (const std::string& name : preset_names()) {
    const json j = heed_json(preset(name));
    EXPECT_EQ(heed_json(from_heed_json(j, "x")), j) << name;
  }
}

TEST(ConfigJson, TextThatIsNoConfigIsRefused) {
  for (const char* text : {"", "{", "[]", "null", "3", "{\"a\":1}x", "\xff", "{\"model_type\":\"\xff\"}"}) {
    EXPECT_NE(refusal(text).find("is no JSON object"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("{}").find("names no model_type"), std::string::npos);
  EXPECT_NE(refusal(R"({"model_type": 3})").find("names no model_type"), std::string::npos);
  EXPECT_NE(refusal(R"({"model_type": "bert"})").find("a model of type 'bert', expected marian, gpt2, llama"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model_type": "g\npt"})").find("'g\\x0apt'"), std::string::npos);
  EXPECT_NE(refusal(std::string(17 << 20, ' ')).find("it is no config"), std::string::npos);
  // As deep as a file may be: parsed without recursion, and never shown.
  const std::string deep =
      R"({"model_type": "marian", "d_model": )" + std::string(2 << 20, '[') + std::string(2 << 20, ']') + "}";
  EXPECT_FALSE(refusal(deep).empty());
}

TEST(ConfigJson, AWrongMarianConfigIsRefusedByKey) {
  const json good = marian();
  for (const char* key :
       {"d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads",
        "encoder_ffn_dim", "decoder_ffn_dim", "vocab_size", "activation_function", "max_position_embeddings",
        "decoder_start_token_id", "eos_token_id", "pad_token_id"}) {
    json without = good;
    without.erase(key);
    EXPECT_NE(refusal(without.dump()).find("'" + std::string(key) + "' is missing, expected"), std::string::npos)
        << key;
    for (const json& wrong : {json(nullptr), json(true), json::array({1}), json::object({{"a", 1}}), json(-1.5)}) {
      expect_refused(good, {{"/" + std::string(key), wrong}}, "'" + std::string(key) + "' is ");
    }
  }
  expect_refused(good, {{"/activation_function", "swich"}}, "unknown 'swich'");
  expect_refused(good, {{"/activation_function", "gelo"}}, "did you mean 'gelu'?");
  expect_refused(good, {{"/activation_function", "none"}}, "unknown 'none'");
  expect_refused(good, {{"/d_model", 0}}, "'d_model' is 0, expected a whole number above 0");
  expect_refused(good, {{"/encoder_attention_heads", 5}}, "16 features by 5 heads");
  expect_refused(good, {{"/encoder_layers", 1000000000000}}, "layers is 1000000000000: expected 0 to 1000");
  expect_refused(good, {{"/encoder_layers", -1}}, "layers is -1");
  expect_refused(good, {{"/encoder_layers", 18446744073709551615u}}, "'encoder_layers' is 18446744073709551615");
  expect_refused(good, {{"/vocab_size", 1000000000000}, {"/decoder_vocab_size", 1000000000000}},
                 "a vocabulary of 1000000000000");
  expect_refused(good, {{"/vocab_size", 50}}, "one embedding for a source vocabulary of 50 and a target of 47");
  expect_refused(good, {{"/dropout", 1.0}}, "dropout is 1");
  expect_refused(good, {{"/dropout", "0.1"}}, "'dropout' is \"0.1\", expected a number");
  expect_refused(good, {{"/scale_embedding", 1}}, "'scale_embedding' is 1, expected true or false");
  expect_refused(good, {{"/normalize_before", true}}, "'normalize_before' is true: not supported");
  expect_refused(good, {{"/tie_word_embeddings", false}}, "'tie_word_embeddings' is false: not supported");
  expect_refused(good, {{"/eos_token_id", 47}}, "the eos token is 47, expected an id from 0 to 46");
  expect_refused(good, {{"/pad_token_id", 4294967298}}, "'pad_token_id' is 4294967298, expected an id");
  expect_refused(good, {{"/decoder_start_token_id", -1}}, "the start token is -1, expected an id from 0");
  expect_refused(good, {{"/heed", {{"unk_token_id", 99}}}}, "the unk token is 99");
  expect_refused(good, {{"/heed", {{"alignment_layer", 2}}}},
                 "head 0 of decoder layer 2, but there are 2 layers of 2 heads");
  expect_refused(good, {{"/heed", {{"alignment_layer", 0}, {"alignment_head", -1}}}}, "head -1 of decoder layer 0");
  for (const int64_t length : {int64_t{-1}, int64_t{1}, int64_t{1} << 40})
    expect_refused(good, {{"/heed", {{"trained_length", length}}}}, "expected 0 (not known), or 2 to");
}

TEST(ConfigJson, AWrongConfigOfHeedsOwnIsRefusedByKey) {
  const json good = heed_own();
  const auto flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer == "/model_type") continue;
    const json::json_pointer at(pointer);
    json without = good;
    without.at(at.parent_pointer()).erase(at.back());
    EXPECT_NE(refusal(without.dump()).find("'" + at.back() + "' is missing"), std::string::npos) << pointer;
    expect_refused(good, {{pointer, nullptr}}, "'" + at.back() + "' is null, expected");
    expect_refused(good, {{pointer, json::array()}}, "'" + at.back() + "' is a list, expected");
  }
  expect_refused(good, {{"/vocabluary", 3}}, "unknown key 'vocabluary', did you mean 'vocabulary'?");
  expect_refused(good, {{"/encoder/layer", 3}}, "encoder: unknown key 'layer', did you mean 'layers'?");
  expect_refused(good, {{"/encoder/norm", "lager"}}, "unknown 'lager', did you mean 'layer'?");
  expect_refused(good, {{"/encoder/positions/kind", "rotari"}}, "did you mean 'rotary'?");
  expect_refused(good, {{"/encoder/positions/t5_buckets", 1000000000000}}, "t5_buckets is 1000000000000");
  expect_refused(good, {{"/encoder/positions/rotary_base", -1}}, "rotary_base is -1");
  expect_refused(good, {{"/encoder/norm_eps", -1}}, "norm_eps is -1");
  expect_refused(good, {{"/encoder/kv_heads", 3}}, "4 heads over 3 key heads");
  expect_refused(good, {{"/encoder/d_model", 64}}, "the encoder has 64 features, the decoder 128");
  expect_refused(good, {{"/tokens/start", 10000}}, "the start token is 10000, expected an id from 0 to 9999");
  expect_refused(good, {{"/alignment/layer", 4}}, "decoder layer 4");
  expect_refused(good, {{"/encoder", 3}}, "'encoder' is 3, expected an object");
}

// They would be read and never looked at.
TEST(ConfigJson, ImagesAreOfAnEncoderAlone) {
  const json vit = heed_json(preset("vit"));
  for (const char* key : {"image_size", "patch_size", "classes"}) {
    json config = heed_own();
    ASSERT_TRUE(config.contains(key));
    config[key] = vit[key];
    expect_refused(config, json::object(), "expected them of an encoder alone");
  }
}

}  // namespace
}  // namespace heed::models
