#include <cmath>

#include "heed/kernels/gemm.h"

namespace heed::kernels {
namespace {

float at(const Operand& x, int64_t i, int64_t j) { return x.transposed ? x.data[j * x.ld + i] : x.data[i * x.ld + j]; }

}  // namespace

void gemm_reference(const Gemm& g) {
  for (int64_t m = 0; m < g.M; ++m) {
    for (int64_t n = 0; n < g.N; ++n) {
      float* c = g.c + m * g.ldc + n;
      float chain = g.accumulate ? *c : g.bias ? g.bias[n] : 0.0f;
      for (int64_t k = 0; k < g.K; ++k) chain = std::fma(at(g.a, m, k), at(g.b, k, n), chain);
      *c = chain;
    }
  }
  if (g.finish && g.M > 0 && g.N > 0) (*g.finish)({g.c, g.ldc, 0, 0, g.M, g.N});
}

}  // namespace heed::kernels
