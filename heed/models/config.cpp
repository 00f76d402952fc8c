#include "heed/models/config.h"

#include "heed/base/error.h"

namespace heed::models {
namespace {

using nn::NormPlace;
using nn::PositionKind;
using nn::StackConfig;

StackConfig stack(int64_t layers, int64_t d_model, int64_t heads, int64_t d_ff) {
  StackConfig s;
  s.layers = layers;
  s.d_model = d_model;
  s.heads = heads;
  s.d_ff = d_ff;
  return s;
}

ModelConfig translator(int64_t layers, int64_t d_model, int64_t heads, int64_t d_ff, int64_t vocabulary) {
  ModelConfig m;
  StackConfig s = stack(layers, d_model, heads, d_ff);
  s.norm_place = NormPlace::kPost;
  s.final_norm = false;
  s.dropout = {0.1f, 0.1f, 0.1f, 0.1f};
  m.encoder = m.decoder = s;
  m.vocabulary = m.source_vocabulary = vocabulary;
  return m;
}

ModelConfig decoder(const StackConfig& layers, int64_t vocabulary) {
  ModelConfig m;
  m.family = Family::kDecoder;
  m.decoder = layers;
  m.vocabulary = vocabulary;
  m.scale_embedding = false;
  return m;
}

ModelConfig gpt(int64_t layers, int64_t d_model, int64_t heads, int64_t context, int64_t vocabulary) {
  StackConfig s = stack(layers, d_model, heads, 4 * d_model);
  s.activation = kernels::Activation::kGeluTanh;
  s.positions.kind = PositionKind::kLearned;
  s.positions.max_length = context;
  s.init_deviation = 0.02f;
  s.dropout = {0.1f, 0.1f, 0, 0.1f};
  return decoder(s, vocabulary);
}

// nanoGPT's character model: 10.8 million parameters, no biases.
ModelConfig character_gpt() {
  ModelConfig m = gpt(6, 384, 6, 256, 65);
  m.decoder.bias = m.decoder.norm_bias = false;
  m.decoder.activation = kernels::Activation::kGelu;
  m.decoder.dropout = {0.2f, 0.2f, 0, 0.2f};
  return m;
}

// An encoder with GELU, norms before its sub-layers and one at the end.
ModelConfig encoder(const StackConfig& layers) {
  ModelConfig m;
  m.family = Family::kEncoder;
  m.encoder = layers;
  m.encoder.activation = kernels::Activation::kGelu;
  return m;
}

ModelConfig vit() {
  ModelConfig m = encoder(stack(6, 64, 4, 128));
  m.encoder.positions.kind = PositionKind::kLearned;
  m.encoder.positions.max_length = 50;
  m.encoder.init_deviation = 0.02f;
  m.encoder.dropout = {0.1f, 0.1f, 0.1f, 0.1f};
  m.image_size = 28;
  m.patch_size = 4;
  m.classes = 10;
  m.scale_embedding = false;
  return m;
}

ModelConfig llama() {
  StackConfig s = stack(6, 288, 6, 768);
  s.kv_heads = 6;
  s.norm = nn::NormKind::kRms;
  s.activation = kernels::Activation::kSilu;
  s.gated = true;
  s.bias = false;
  s.positions.kind = PositionKind::kRotary;
  s.init_deviation = 0.02f;
  return decoder(s, 32000);
}

struct Preset {
  const char* name;
  ModelConfig (*make)();
};

const Preset kPresets[] = {
    {"tiny", [] { return translator(4, 128, 4, 256, 10000); }},
    {"base", [] { return translator(6, 512, 8, 2048, 10000); }},
    {"chargpt", character_gpt},
    {"gpt2", [] { return gpt(12, 768, 12, 1024, 50257); }},
    {"vit", vit},
    {"encoder", [] { return encoder(stack(6, 256, 4, 1024)); }},
    {"llama", llama},
};

}  // namespace

void ModelConfig::check() const {
  if (family != Family::kDecoder) encoder.check(true);
  if (family != Family::kEncoder) decoder.check(false);
  if (family == Family::kEncoderDecoder && encoder.d_model != decoder.d_model) {
    fail("[model] the encoder has {} features, the decoder {}: expected equal", encoder.d_model, decoder.d_model);
  }
  for (const int64_t size : {source_vocabulary, vocabulary, classes}) {
    if (size < 0 || size > (int64_t{1} << 28))
      fail("[model] a vocabulary of {}: expected 0 to {}", size, int64_t{1} << 28);
  }
  if (family == Family::kEncoderDecoder && share_source && source_vocabulary != vocabulary) {
    fail("[model] one embedding for a source vocabulary of {} and a target of {}: expected equal", source_vocabulary,
         vocabulary);
  }
  if (family != Family::kEncoder && (image_size != 0 || patch_size != 0 || classes != 0)) {
    fail("[model] images of {} in patches of {} and {} classes: expected them of an encoder alone", image_size,
         patch_size, classes);
  }
  if (trained_length < 0 || trained_length == 1 || trained_length > (int64_t{1} << 28))
    fail("[model] trained with lines of {} tokens: expected 0 (not known), or 2 to {}", trained_length,
         int64_t{1} << 28);
  if (image_size == 0) return;
  if (image_size < 0 || patch_size <= 0 || image_size > (1 << 15) || image_size % patch_size != 0) {
    fail("[model] images of {} in patches of {}: expected a divisor", image_size, patch_size);
  }
  if (channels < 1 || channels > 16) fail("[model] {} channels: expected 1 to 16", channels);
}

ModelConfig preset(const std::string& name) {
  for (const Preset& p : kPresets) {
    if (name == p.name) return p.make();
  }
  fail("[preset] unknown '{}'{}", name, nearest_is(name, preset_names()));
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& p : kPresets) all.emplace_back(p.name);
    return all;
  }();
  return names;
}

}  // namespace heed::models
