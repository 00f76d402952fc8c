#include <bit>
#include <cmath>

#include "heed/kernels/gemm.h"

namespace heed::kernels {
namespace {

// To the nearest bf16, ties to even.
float to_bf16(float x) {
  if (std::isnan(x)) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

float at(const Operand& x, int64_t i, int64_t j) { return x.transposed ? x.data[j * x.ld + i] : x.data[i * x.ld + j]; }

// In bf16 the steps of k go in pairs, the second of a pair first, as the instruction of CPUs does.
float chain_bf16(const Gemm& g, int64_t m, int64_t n, float chain) {
  const auto advance = [&](int64_t k) {
    const bool inside = k < g.K;
    chain = std::fma(inside ? to_bf16(at(g.a, m, k)) : 0.0f, inside ? to_bf16(at(g.b, k, n)) : 0.0f, chain);
  };
  for (int64_t k = 0; k < g.K; k += 2) {
    advance(k + 1);
    advance(k);
  }
  return chain;
}

float chain_f32(const Gemm& g, int64_t m, int64_t n, float chain) {
  for (int64_t k = 0; k < g.K; ++k) chain = std::fma(at(g.a, m, k), at(g.b, k, n), chain);
  return chain;
}

}  // namespace

void gemm_reference(const Gemm& g) {
  for (int64_t m = 0; m < g.M; ++m) {
    for (int64_t n = 0; n < g.N; ++n) {
      float* c = g.c + m * g.ldc + n;
      const float start = g.accumulate ? *c : g.bias ? g.bias[n] : 0.0f;
      *c = g.precision == Precision::kBf16 ? chain_bf16(g, m, n, start) : chain_f32(g, m, n, start);
    }
  }
  if (g.finish && g.M > 0 && g.N > 0) (*g.finish)({g.c, g.ldc, 0, 0, g.M, g.N});
}

}  // namespace heed::kernels
