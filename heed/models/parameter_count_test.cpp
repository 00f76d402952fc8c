#include "heed/models/parameter_count.h"

#include <gtest/gtest.h>

#include "heed/models/decoder.h"
#include "heed/models/encoder.h"
#include "heed/models/encoder_decoder.h"

namespace heed::models {
namespace {

nn::StackConfig stack(int64_t layers, int64_t d_model, int64_t heads, int64_t d_ff) {
  nn::StackConfig s;
  s.layers = layers;
  s.d_model = d_model;
  s.heads = heads;
  s.d_ff = d_ff;
  return s;
}

ModelConfig bodies(const nn::StackConfig& s) {
  ModelConfig m;
  m.encoder = m.decoder = s;
  return m;
}

TEST(ParameterCount, ReferenceShapes) {
  EXPECT_EQ(parameter_parts(bodies(stack(2, 16, 4, 32))).total(), 11200);
  EXPECT_EQ(parameter_parts(bodies(stack(6, 512, 8, 2048))).total(), 44140544);
  EXPECT_EQ(parameter_parts(preset("encoder")).total(), 4739072);
  EXPECT_EQ(parameter_parts(preset("gpt2")).total(), 124439808);
}

TEST(ParameterCount, TwoThirdsOfAnEncoderLayerAreFeedForward) {
  const ParameterParts layer = block_parts(stack(6, 512, 8, 2048), false);
  EXPECT_NEAR(static_cast<double>(layer.feed_forward) / static_cast<double>(layer.body()), 2.0 / 3, 0.001);
}

int64_t built(const ModelConfig& m) {
  switch (m.family) {
    case Family::kEncoderDecoder:
      return EncoderDecoder(m).parameters.count();
    case Family::kEncoder:
      return Encoder(m).parameters.count();
    case Family::kDecoder:
      break;
  }
  return Decoder(m).parameters.count();
}

// Every option that adds or removes parameters, against the model that is really built.
TEST(ParameterCount, AgreesWithTheModelsThatAreBuilt) {
  for (const Family family : {Family::kEncoderDecoder, Family::kEncoder, Family::kDecoder}) {
    for (int option = 0; option < 19; ++option) {
      ModelConfig m = bodies(stack(2, 12, 4, 20));
      m.family = family;
      m.vocabulary = 7;
      m.source_vocabulary = option == 13 ? 9 : 7;
      for (nn::StackConfig* s : {&m.encoder, &m.decoder}) {
        s->bias = option != 1;
        s->norm_bias = option != 2;
        s->gated = option == 3;
        s->final_norm = option != 4;
        if (option == 5) s->kv_heads = 2;
        if (option == 6) s->head_dim = 5;
        if (option == 7) s->norm = nn::NormKind::kRms;
        if (option == 8) s->norm = nn::NormKind::kNone;
        if (option == 9) s->positions = {.kind = nn::PositionKind::kLearned, .max_length = 11};
        if (option == 10) s->positions.kind = nn::PositionKind::kT5;
        s->with_feed_forward = option != 11;
        s->with_cross_attention = option != 14;
        s->with_attention = option != 15;
        s->biases = {option != 16, option != 17, option != 18};
      }
      m.tie_embeddings = option != 12;
      m.share_source = option != 13;
      m.output_bias = option >= 12;
      EXPECT_EQ(parameter_parts(m).total(), built(m)) << static_cast<int>(family) << " option " << option;
    }
  }
  for (const char* name : {"tiny", "vit", "encoder"}) {
    EXPECT_EQ(parameter_parts(preset(name)).total(), built(preset(name))) << name;
  }
}

}  // namespace
}  // namespace heed::models
