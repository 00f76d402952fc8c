// The connection around every sub-layer: post-norm LN(x + f(x)) as in the paper, or pre-norm x + f(LN(x)).
#pragma once

#include "heed/nn/context.h"
#include "heed/nn/norm.h"
#include "heed/nn/trace.h"

namespace heed::nn {

struct SubLayer {
  Norm norm;
  NormPlace norm_place = NormPlace::kPre;
  bool with_residual = true;
  float residual_dropout = 0;
  uint64_t place = 0;

  SubLayer() = default;
  SubLayer(const Scope& scope, const StackConfig& config)
      : norm(scope, config),
        norm_place(config.norm_place),
        with_residual(config.with_residual),
        residual_dropout(config.dropout.residual),
        place(place_of(scope.path())) {}

  template <class F>
  Tensor around(const Tensor& x, const Spans& spans, const Context& context, F&& f) const {
    return norm_place == NormPlace::kPre ? connect(x, f(norm(x)), spans, context)
                                         : norm(connect(x, f(x), spans, context));
  }

 private:
  Tensor connect(const Tensor& x, const Tensor& branch, const Spans& spans, const Context& context) const {
    const Dropout drop = context.dropout(residual_dropout, place);
    return with_residual ? residual(x, branch, spans, drop) : dropout(branch, spans, drop);
  }
};

}  // namespace heed::nn
