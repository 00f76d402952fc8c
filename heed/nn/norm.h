// LayerNorm: (x - mean) / sqrt(var + eps) * gain + bias over the features; RMSNorm: x / rms(x) * gain; or nothing.
#pragma once

#include "heed/nn/config.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"

namespace heed::nn {

struct Norm {
  NormKind kind = NormKind::kNone;
  float eps = 0;
  Tensor gain, bias;

  Norm() = default;
  Norm(const Scope& scope, const StackConfig& config) : kind(config.norm), eps(config.norm_eps) {
    if (kind == NormKind::kNone) return;
    gain = scope.declare("weight", {config.d_model}, Init::ones());
    if (kind == NormKind::kLayer && config.norm_bias) bias = scope.declare("bias", {config.d_model}, Init::zeros());
  }

  Tensor operator()(const Tensor& x) const {
    switch (kind) {
      case NormKind::kLayer:
        return layer_norm(x, gain, bias, eps);
      case NormKind::kRms:
        return rms_norm(x, gain, eps);
      case NormKind::kNone:
        break;
    }
    return x;
  }
};

}  // namespace heed::nn
