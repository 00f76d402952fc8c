// Sizes and shapes that are facts: parameters of the reference models, and every intermediate by name.
#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/tensor/testing.h"

namespace heed::models {
namespace {

using heed::testing::expect_same_bits;
using heed::testing::message_of;
using heed::testing::random_tensor;

constexpr std::nullopt_t kNoNumbers = std::nullopt;  // names and shapes alone

ModelConfig body_of(ModelConfig config, bool final_norm) {
  config.vocabulary = config.source_vocabulary = 0;
  config.encoder.final_norm = config.decoder.final_norm = final_norm;
  return config;
}

TEST(Counts, EncoderDecoder) {
  ModelConfig small = body_of(preset("base"), true);
  for (nn::StackConfig* s : {&small.encoder, &small.decoder})
    s->layers = 2, s->d_model = 16, s->heads = 4, s->d_ff = 32;
  EXPECT_EQ(EncoderDecoder(small, kNoNumbers).parameters.count(), 11200);
  EXPECT_EQ(EncoderDecoder(body_of(preset("base"), true), kNoNumbers).parameters.count(), 44140544);
  const EncoderDecoder tied(preset("base"), kNoNumbers);
  EXPECT_EQ(tied.parameters.count(), 44140544 - 2 * 1024 + 10000 * 512);  // one table for source, target and output
}

TEST(Counts, EncoderAndDecoders) {
  EXPECT_EQ(Encoder(preset("encoder"), kNoNumbers).parameters.count(), 4739072);
  EXPECT_EQ(Decoder(preset("gpt2"), kNoNumbers).parameters.count(), 124439808);
  EXPECT_EQ(Decoder(preset("llama"), kNoNumbers).parameters.count(), 15191712);
  for (const std::string& name : preset_names()) preset(name).check();
}

TEST(Counts, AnOutputBiasTiedOrNot) {
  for (const bool tied : {true, false}) {
    ModelConfig config = preset("chargpt");
    config.tie_embeddings = tied;
    const int64_t without = Decoder(config, kNoNumbers).parameters.count();
    config.output_bias = true;
    EXPECT_EQ(Decoder(config, kNoNumbers).parameters.count(), without + config.vocabulary);
  }
}

TEST(Counts, TheFeedForwardHoldsTwoThirdsOfALayer) {
  const Encoder model(preset("encoder"), kNoNumbers);
  const auto of_layer = [&](const std::string& part) {
    return static_cast<double>(model.parameters.count_under("encoder.layers.0" + part));
  };
  EXPECT_NEAR(of_layer(".feed_forward") / of_layer(""), 2.0 / 3, 0.01);
}

TEST(Counts, HeadsMustDivideTheFeatures) {
  ModelConfig config = preset("encoder");
  config.encoder.d_model = 128;
  config.encoder.heads = 5;
  EXPECT_EQ(message_of([&] { Encoder(config, kNoNumbers); }),
            "[model] 128 features by 5 heads: d_model must be divisible by heads");
  config = preset("base");
  config.encoder.d_model = 256;
  EXPECT_EQ(message_of([&] { EncoderDecoder(config, kNoNumbers); }),
            "[model] the encoder has 256 features, the decoder 512: expected equal");
  config = preset("base");
  config.source_vocabulary = 7;
  EXPECT_EQ(message_of([&] { EncoderDecoder(config, kNoNumbers); }),
            "[model] one embedding for a source vocabulary of 7 and a target of 10000: expected equal");
  EXPECT_EQ(message_of([] { preset("bas"); }), "[preset] unknown 'bas'; nearest is 'base'");
}

TEST(Parameters, StartFromSeedAndNameAlone) {
  ModelConfig config = preset("encoder");
  config.encoder.layers = 1;
  const Encoder a(config, 7), b(config, 7), c(config, 8);
  config.encoder.layers = 2;
  const Encoder deeper(config, 7);
  const std::string name = "encoder.layers.0.self_attn.q_proj.weight";
  expect_same_bits(a.parameters[name], b.parameters[name]);
  expect_same_bits(a.parameters[name], deeper.parameters[name]);
  EXPECT_NE(a.parameters[name].to_vector(), c.parameters[name].to_vector());
  EXPECT_EQ(message_of([&] { a.parameters["encoder.norm.weigth"]; }),
            "[parameters] no 'encoder.norm.weigth'; nearest is 'encoder.norm.weight'");
}

// A batch of 128 sequences of 32 positions, d=200, 5 heads.
TEST(Trace, EveryIntermediateByNameAndShape) {
  nn::StackConfig config;
  config.d_model = 200;
  config.heads = 5;
  nn::Parameters parameters;
  const nn::MultiHeadAttention layer(nn::Scope(parameters) / "attn", config);
  parameters.allocate(1);
  const Tensor x = random_tensor({128 * 32, 200}, 1);
  const Spans spans = Spans::dense(128, 32);
  const NoGrad no_grad;
  nn::Trace trace;
  nn::Context looking;
  looking.trace = &trace;
  const Tensor seen = layer.self(x, {spans, spans, false}, {}, looking);
  expect_same_bits(layer.self(x, {spans, spans, false}, {}, {}), seen);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"input", "(128,32,200)"},    {"q", "(128,32,200)"},
      {"k", "(128,32,200)"},        {"v", "(128,32,200)"},
      {"q_heads", "(128,5,32,40)"}, {"k_heads", "(128,5,32,40)"},
      {"v_heads", "(128,5,32,40)"}, {"scores", "(128,5,32,32)"},
      {"weights", "(128,5,32,32)"}, {"head_output", "(128,5,32,40)"},
      {"merged", "(128,32,200)"},   {"output", "(128,32,200)"}};
  std::vector<std::string> names;
  for (const auto& [name, shape] : expected) {
    names.push_back("attn." + name);
    EXPECT_EQ(trace.shape("attn." + name).str(), shape) << name;
  }
  EXPECT_EQ(trace.names(), names);
  EXPECT_EQ(trace.tensor("attn.q_heads").shape().str(), "(128,5,32,40)");
  // What is recomputed belongs to what ran: weights are the softmax of scores, and times v they are the heads' output.
  const Tensor weights = trace.tensor("attn.weights", 77);
  heed::testing::expect_values(softmax(trace.tensor("attn.scores", 77)), weights.to_vector(), 1e-6f);
  heed::testing::expect_values(matmul(weights, trace.tensor("attn.v_heads", 77)),
                               trace.tensor("attn.head_output", 77).to_vector(), 1e-5f);
  expect_same_bits(trace.tensor("attn.output"), reshape(seen, {128, 32, 200}));
  EXPECT_EQ(message_of([&] { trace.tensor("attn.weigths"); }),
            "[trace] no 'attn.weigths' in this run; nearest is 'attn.weights'");
}

TEST(Trace, ARaggedTranslatorAndChosenNames) {
  ModelConfig config = preset("tiny");
  config.encoder.layers = config.decoder.layers = 1;
  config.vocabulary = config.source_vocabulary = 50;
  const EncoderDecoder model(config);
  const std::vector<int64_t> source{3, 5}, target{2, 4};
  PairBatch batch{{{1, 2, 3, 4, 5, 6, 7, 8}, Spans(source)}, {{1, 2, 3, 4, 5, 6}, Spans(target)}, {}};
  nn::Trace all, chosen({"decoder.layers.0.cross_attn.weights"});
  nn::Context context;
  const Tensor plain = model.logits(batch, context);
  context.trace = &all;
  expect_same_bits(model.logits(batch, context), plain);
  context.trace = &chosen;
  expect_same_bits(model.logits(batch, context), plain);
  EXPECT_EQ(chosen.names(), std::vector<std::string>{"decoder.layers.0.cross_attn.weights"});
  EXPECT_EQ(chosen.tensor("decoder.layers.0.cross_attn.weights", 1).shape().str(), "(4,4,5)");
  EXPECT_EQ(all.tensor("encoder.layers.0.self_attn.weights", 0).shape().str(), "(4,3,3)");
  EXPECT_EQ(all.tensor("decoder.output", 1).shape().str(), "(4,128)");
  EXPECT_EQ(all.all_rows("decoder.layers.0.feed_forward.input").shape().str(), "(6,128)");
  EXPECT_EQ(all.all_rows("encoder.layers.0.feed_forward.hidden").shape().str(), "(8,256)");
  EXPECT_EQ(message_of([&] { all.all_rows("encoder.layers.0.self_attn.weights"); }),
            "[trace] 'encoder.layers.0.self_attn.weights' is no rows of tokens");
  EXPECT_EQ(message_of([&] { all.tensor("decoder.output"); }),
            "[trace] 'decoder.output' of a ragged batch: ask for one of its 2 sequences");
  // Causal: no weight above the diagonal.
  const Tensor weights = all.tensor("decoder.layers.0.self_attn.weights", 1);
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = i + 1; j < 4; ++j) EXPECT_EQ(weights.data()[i * 4 + j], 0);
  }
}

TEST(Images, PatchesRowByRow) {
  ModelConfig config = preset("vit");
  config.image_size = 4;
  config.patch_size = 2;
  config.channels = 2;
  std::vector<float> pixels(2 * 4 * 4 * 2);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  const std::vector<int32_t> labels{1, 0};
  const ImageBatch batch = image_batch(pixels, labels, config);
  EXPECT_EQ(batch.patches.shape().str(), "(8,8)");
  EXPECT_EQ(batch.class_rows, (std::vector<int32_t>{0, 5}));
  const std::vector<int32_t> second{1}, last{7};
  heed::testing::expect_values(select_rows(batch.patches, second), {4, 5, 6, 7, 12, 13, 14, 15});
  heed::testing::expect_values(select_rows(batch.patches, last), {52, 53, 54, 55, 60, 61, 62, 63});
  EXPECT_EQ(message_of([&] { image_batch(std::span(pixels).first(7), labels, config); }),
            "[images] 7 values for 2 images: expected 64");
}

}  // namespace
}  // namespace heed::models
