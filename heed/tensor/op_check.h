// What ops check before they compute, each failure one line.
#pragma once

#include "heed/base/error.h"
#include "heed/kernels/dropout.h"
#include "heed/tensor/spans.h"
#include "heed/tensor/tensor.h"

namespace heed {

inline void check_rank(const char* op, const char* name, const Tensor& x, int rank) {
  if (x.shape().rank() != rank) {
    fail("[{}] {} has shape {}: expected {} dimensions", op, name, x.shape().str(), rank);
  }
}

inline void check_shape(const char* op, const char* name, const Tensor& x, const Shape& expected) {
  if (!(x.shape() == expected)) {
    fail("[{}] {} has shape {}: expected {}", op, name, x.shape().str(), expected.str());
  }
}

inline void check_columns(const char* op, const char* name, const Tensor& x, int64_t expected) {
  if (x.shape().rank() == 0 || x.cols() != expected) {
    fail("[{}] {} has shape {}: expected {} in the last dimension", op, name, x.shape().str(), expected);
  }
}

inline void check_rows(const char* op, const char* name, const Tensor& x, int64_t expected) {
  if (x.rows() != expected) fail("[{}] {} has shape {}: expected {} rows", op, name, x.shape().str(), expected);
}

inline void check_dropout(const char* op, const Tensor& x, const Spans& spans, const kernels::Dropout& how) {
  if (!(how.p >= 0 && how.p < 1)) fail("[{}] probability {}: expected 0 <= p < 1", op, how.p);
  if (how.p > 0) check_rows(op, "input", x, spans.tokens());
}

}  // namespace heed
