// Model directories: those that transformers wrote, those of heed's own, and damaged ones.
#include "heed/models/directory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "heed/models/config_json.h"
#include "heed/models/golden.h"
#include "heed/models/test_directories.h"

namespace heed::models {
namespace {

using heed::testing::Golden;
using nlohmann::json;

PairBatch golden_batch(const Golden& golden) {
  const Spans spans = golden.spans("input.lengths");
  return {{golden.ints("input.source"), spans}, {golden.ints("input.target"), spans}, {}};
}

TEST(Directory, WhatTransformersWroteComputesTheSame) {
  const NoGrad no_grad;
  for (const std::string& name : kGoldenMarians) {
    Golden golden("marian/" + name + "/expected");
    const PairBatch batch = golden_batch(golden);
    for (const bool for_running : {false, true}) {
      const EncoderDecoder model = load_translator(golden_marian(name), {.for_running = for_running});
      const Tensor logits = model.logits(batch, {});
      golden.expect(logits, "logits");
      const std::vector<float> expected = golden.floats("logits");
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(logits.data()[i], expected[i], 1e-5) << name;
    }
  }
}

TEST(Directory, TheirConfigsAreUnderstood) {
  const ModelConfig shared = read_config(golden_marian("shared_relu")),
                    separate = read_config(golden_marian("separate_swish"));
  EXPECT_TRUE(shared.share_source && shared.output_bias && shared.scale_embedding);
  EXPECT_EQ(shared.encoder.activation, kernels::Activation::kRelu);
  EXPECT_EQ(shared.vocabulary, 47);
  EXPECT_EQ(shared.encoder.layers, 1);
  EXPECT_EQ(shared.decoder.layers, 2);
  EXPECT_EQ(shared.encoder.heads, 4);
  EXPECT_EQ(shared.decoder.heads, 2);
  EXPECT_TRUE(shared.decoder.positions.halves);
  EXPECT_FALSE(separate.share_source);
  EXPECT_EQ(separate.encoder.activation, kernels::Activation::kSilu);
  EXPECT_EQ(separate.source_vocabulary, 47);
  EXPECT_EQ(separate.vocabulary, 53);
  EXPECT_EQ(separate.tokens.start, 2);
}

void expect_same_numbers(const EncoderDecoder& a, const EncoderDecoder& b) {
  ASSERT_EQ(a.parameters.list().size(), b.parameters.list().size());
  for (const nn::Parameter& p : a.parameters.list()) {
    const Tensor& other = b.parameters[p.name];
    ASSERT_EQ(p.tensor.shape().str(), other.shape().str()) << p.name;
    EXPECT_EQ(std::memcmp(p.tensor.data(), other.data(), static_cast<size_t>(p.tensor.numel()) * sizeof(float)), 0)
        << p.name;
  }
}

// Saved, loaded and saved again: the same description, the same numbers, the same bytes.
void expect_round_trip(const EncoderDecoder& model, const std::string& type) {
  const TemporaryFolder first, second;
  save_translator(first.file("."), model);
  EXPECT_EQ(json::parse(content_of(first.file("config.json")))["model_type"], type);
  const EncoderDecoder again = load_translator(first.file("."));
  EXPECT_EQ(heed_json(again.config), heed_json(model.config));
  expect_same_numbers(model, again);
  save_translator(second.file("."), again);
  for (const char* file : {"config.json", "model.safetensors"}) {
    EXPECT_EQ(content_of(first.file(file)), content_of(second.file(file))) << type << " " << file;
  }
}

TEST(Directory, WhatCameFromTransformersGoesBackAsItWas) {
  for (const std::string& name : kGoldenMarians) expect_round_trip(load_translator(golden_marian(name)), "marian");
}

// The very files that transformers opened and computed with.
TEST(Directory, WhatTransformersOpenedIsWrittenToday) {
  const TemporaryFolder folder;
  save_translator(folder.file("."), load_translator(golden_marian("written_by_heed")));
  for (const char* file : {"/config.json", "/generation_config.json", "/model.safetensors"})
    EXPECT_EQ(content_of(folder.file(".") + file), content_of(golden_marian("written_by_heed") + file)) << file;
}

ModelConfig small() {
  ModelConfig c;
  nn::StackConfig& s = c.encoder;
  s.layers = 1, s.d_model = 16, s.heads = 2, s.d_ff = 24;
  s.norm_place = nn::NormPlace::kPost, s.final_norm = false;
  c.decoder = s;
  c.decoder.layers = 2;
  c.vocabulary = c.source_vocabulary = 20;
  return c;
}

TEST(Directory, EveryShapeSurvivesToTheBit) {
  struct Case {
    const char* type;
    std::function<void(ModelConfig&)> change;
  };
  const auto both = [](ModelConfig& c, const std::function<void(nn::StackConfig&)>& change) {
    change(c.encoder), change(c.decoder);
  };
  const std::vector<Case> cases = {
      {"marian", [](ModelConfig&) {}},
      {"marian", [](ModelConfig& c) { c.share_source = false, c.source_vocabulary = 30; }},
      {"marian",
       [](ModelConfig& c) {
         c.alignment = {1, 1}, c.trained_length = 100;
       }},
      {"heed", [](ModelConfig& c) { c.tie_embeddings = false, c.trained_length = 100; }},
      {"marian",
       [](ModelConfig& c) {
         c.tokens = {5, 3, 4, 5};
       }},
      {"marian", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.halves = true; }); }},
      {"marian", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.kind = nn::PositionKind::kLearned; }); }},
      {"marian", [&](ModelConfig& c) { both(c, [](auto& s) { s.activation = kernels::Activation::kGeluTanh; }); }},
      {"marian", [&](ModelConfig& c) { both(c, [](auto& s) {
                                         s.dropout = {0.25f, 0.125f, 0.5f, 0.25f};
                                       }); }},
      {"heed", [](ModelConfig& c) { c.tie_embeddings = false; }},
      {"heed", [](ModelConfig& c) { c.encoder.activation = kernels::Activation::kSilu; }},
      {"heed",
       [&](ModelConfig& c) { both(c, [](auto& s) { s.norm_place = nn::NormPlace::kPre, s.final_norm = true; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.kind = nn::PositionKind::kRotary; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.kind = nn::PositionKind::kAlibi; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.kind = nn::PositionKind::kT5; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.positions.kind = nn::PositionKind::kNone; }); }},
      {"heed",
       [&](ModelConfig& c) { both(c, [](auto& s) { s.activation = kernels::Activation::kGelu, s.gated = true; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.norm = nn::NormKind::kRms, s.norm_eps = 1e-6f; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.bias = s.norm_bias = false; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.kv_heads = 1; }); }},
      {"heed", [&](ModelConfig& c) { both(c, [](auto& s) { s.head_dim = 4; }); }},
      {"heed", [](ModelConfig& c) { c.decoder.with_feed_forward = false; }},
      {"heed", [](ModelConfig& c) { c.tie_embeddings = false, c.output_bias = true; }},
  };
  uint64_t seed = 1;
  for (const Case& test : cases) {
    SCOPED_TRACE(seed);
    ModelConfig config = small();
    test.change(config);
    EncoderDecoder model(config, seed++);
    // A bias starts at zero, and Marian's zeros are no bias.
    for (int64_t i = 0; config.output_bias && i < config.vocabulary; ++i) {
      model.parameters["output_bias"].data()[i] = 0.5f + static_cast<float>(i);
    }
    expect_round_trip(model, test.type);
  }
}

TEST(Directory, AModelLoadedForRunningIsNotSaved) {
  const TemporaryFolder folder;
  const EncoderDecoder model = load_translator(golden_marian("shared_relu"), {.for_running = true});
  EXPECT_NE(message_of<Error>([&] { save_translator(folder.file("."), model); }).find("load it for training"),
            std::string::npos);
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Directory, TensorsThatAreNotThoseOfTheConfigAreNamed) {
  const std::string fc1 = "model.encoder.layers.0.fc1.weight";
  const DirectoryCopy copy;
  copy.edit_tensors([&](auto& tensors) {
    std::erase_if(tensors, [](const TensorToWrite& t) { return t.name == "model.decoder.layers.0.fc2.bias"; });
    tensor_named(tensors, "model.decoder.layers.1.fc1.bias").name = "surprise\n";
    TensorToWrite& weight = tensor_named(tensors, fc1);
    weight.shape = {weight.shape[1], weight.shape[0]};
    TensorToWrite& norm = tensor_named(tensors, "model.encoder.layers.0.final_layer_norm.bias");
    norm.dtype = StoredType::kI32;
  });
  const std::string message = copy.refusal();
  for (const std::string& part :
       {std::string("2 missing: "), std::string("model.decoder.layers.0.fc2.bias"),
        std::string("model.decoder.layers.1.fc1.bias"), std::string("1 unexpected: surprise\\x0a"),
        std::string("2 misshapen: "), fc1 + " (16, 24), expected (24, 16)",
        std::string("final_layer_norm.bias of type I32, expected F32")}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  }
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Directory, WeightsThatAreNoNumbersAreNamed) {
  for (const auto& [bad, text] : {std::pair{NAN, "nan"}, std::pair{-INFINITY, "inf"}}) {
    const DirectoryCopy copy;
    std::vector<float> numbers;
    copy.edit_tensors([&, bad = bad](std::vector<TensorToWrite>& tensors) {
      TensorToWrite& weight = tensor_named(tensors, "model.decoder.layers.1.fc2.weight");
      numbers.assign(static_cast<size_t>(weight.shape[0] * weight.shape[1]), 0.5f);
      numbers[numbers.size() / 2] = bad;
      weight.data = std::as_bytes(std::span(numbers));
    });
    EXPECT_NE(copy.refusal().find(std::string("'model.decoder.layers.1.fc2.weight' holds ") + text), std::string::npos)
        << copy.refusal();
    EXPECT_NE(message_of([&] { load_translator(copy.path(), {.for_running = true}); }).find("fc2.weight"),
              std::string::npos);
    EXPECT_NO_THROW(read_config(copy.path()));  // which looks at no layer
  }
}

TEST(Directory, WithManyFaultsTheFirstAreNamedAndTheRestCounted) {
  const DirectoryCopy copy;
  copy.edit_config([](json& c) { c["encoder_layers"] = 4; });
  const std::string message = copy.refusal();
  EXPECT_NE(message.find("48 missing: model.encoder.layers.1."), std::string::npos) << message;
  EXPECT_NE(message.find(" and 43 more"), std::string::npos) << message;
}

// Whatever a config asks for, the file says how much there is.
TEST(Directory, AbsurdSizesAreNeverAllocated) {
  const std::vector<std::pair<const char*, int64_t>> absurd = {
      {"encoder_layers", 1'000'000'000'000}, {"decoder_layers", 1000},
      {"vocab_size", 1'000'000'000'000},     {"d_model", 1 << 20},
      {"d_model", int64_t{1} << 40},         {"encoder_ffn_dim", 1 << 22},
      {"max_position_embeddings", INT64_MAX}};
  for (const auto& [key, value] : absurd) {
    const DirectoryCopy copy;
    copy.edit_config([&, k = key, v = value](json& c) { c[k] = v; });
    EXPECT_FALSE(copy.refusal().empty()) << key;
  }
  const DirectoryCopy wide;
  wide.edit_config([](json& c) { c["vocab_size"] = c["decoder_vocab_size"] = 1 << 28; });
  EXPECT_NE(wide.refusal().find("misshapen: model.shared.weight (47, 16), expected (268435456, 16)"), std::string::npos)
      << wide.refusal();
}

TEST(Directory, OtherThingsAreNoModel) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of([&] { load_translator(folder.file("none")); }).find("is no folder"), std::string::npos);
  EXPECT_NE(message_of([&] { load_translator(folder.file(".")); }).find("has no config.json"), std::string::npos);
  const DirectoryCopy copy;
  std::filesystem::remove(copy.path() + "/model.safetensors");
  EXPECT_NE(copy.refusal().find("model.safetensors"), std::string::npos);
  put_content(copy.path() + "/pytorch_model.bin", "x");
  EXPECT_NE(copy.refusal().find("has only pytorch_model.bin"), std::string::npos);
}

}  // namespace
}  // namespace heed::models
