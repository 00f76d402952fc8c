// The kinds of products that gemm() leaves to others.
#pragma once

#include "heed/kernels/gemm.h"

namespace heed::kernels {

// Few rows, where memory is the limit: true where g was one of those, and is done.
bool gemm_few_rows(const Gemm& g);
// Quantised weights: g.b.type is kInt8 or kInt4.
void gemm_quantised(const Gemm& g);

// Whether k is long enough to be halved.
bool in_halves(const Gemm& g);

// A product as two, the second of which goes to memory of its own: M * N numbers.
struct Halves {
  Halves(const Gemm& whole, float* second_c);
  void join() const;  // the second is added to the first, which is finished

  const Gemm& whole;
  Gemm first, second;
};

}  // namespace heed::kernels
