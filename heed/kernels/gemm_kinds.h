// The kinds of products that gemm() leaves to others.
#pragma once

#include "heed/kernels/gemm.h"

namespace heed::kernels {

// Few rows, where memory is the limit: true where g was one of those, and is done.
bool gemm_few_rows(const Gemm& g);
// Quantised weights: g.b.type is kInt8 or kInt4.
void gemm_quantised(const Gemm& g);

}  // namespace heed::kernels
