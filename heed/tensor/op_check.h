// What ops check before they compute, each failure one line.
#pragma once

#include "heed/base/error.h"
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

}  // namespace heed
