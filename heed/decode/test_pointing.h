// A translator whose one head looks at the source token that is the target token before: set by hand, for tests.
#pragma once

#include <cstring>

#include "heed/models/encoder_decoder.h"

namespace heed::decode {

// Blocks that add nothing and all other heads blind: what a head sees are the embeddings, normalised.
inline models::EncoderDecoder pointing_model(int64_t vocabulary, const models::AlignmentHead& pointing) {
  constexpr int64_t kFeatures = 64, kHeads = 2, kOfHead = kFeatures / kHeads;
  models::ModelConfig config;
  config.encoder.layers = 2;
  config.encoder.d_model = config.encoder.d_ff = kFeatures;
  config.encoder.heads = kHeads;
  config.encoder.positions.kind = nn::PositionKind::kNone;
  config.decoder = config.encoder;
  config.vocabulary = config.source_vocabulary = vocabulary;
  models::EncoderDecoder model(config, 3);
  for (const nn::Parameter& p : model.parameters.list()) {
    const bool kept = p.name.find("norm") != std::string::npos || p.name == "shared.weight";
    if (!kept) std::memset(p.tensor.data(), 0, static_cast<size_t>(p.tensor.numel()) * sizeof(float));
  }
  const std::string attention = "decoder.layers." + std::to_string(pointing.layer) + ".cross_attn.";
  for (const char* side : {"q_proj.weight", "k_proj.weight"}) {
    float* weight = model.parameters[attention + side].data();  // (C, C)
    for (int64_t i = 0; i < kOfHead; ++i) weight[(pointing.head * kOfHead + i) * kFeatures + i] = 2;
  }
  return model;
}

}  // namespace heed::decode
