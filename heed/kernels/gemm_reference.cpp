#include <bit>
#include <cmath>
#include <vector>

#include "heed/base/half.h"
#include "heed/kernels/gemm.h"
#include "heed/kernels/quantised.h"

namespace heed::kernels {
namespace {

// To the nearest bf16, ties to even.
float to_bf16(float x) {
  if (std::isnan(x)) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

float at(const Operand& x, int64_t i, int64_t j) {
  const int64_t place = x.transposed ? j * x.ld + i : i * x.ld + j;
  if (x.type == NumberType::kF16) return to_f32(*x.at<StoredF16>(place));
  if (x.type == NumberType::kBf16) return to_f32(*x.at<StoredBf16>(place));
  return *x.at(place);
}

struct Steps {
  int64_t begin, end;
};

// In bf16 the steps of k go in pairs, the second of a pair first, as the instruction of CPUs does.
float chain_bf16(const Gemm& g, int64_t m, int64_t n, Steps steps, float chain) {
  const auto advance = [&](int64_t k) {
    const bool inside = k < steps.end;
    chain = std::fma(inside ? to_bf16(at(g.a, m, k)) : 0.0f, inside ? to_bf16(at(g.b, k, n)) : 0.0f, chain);
  };
  for (int64_t k = steps.begin; k < steps.end; k += 2) {
    advance(k + 1);
    advance(k);
  }
  return chain;
}

float chain_f32(const Gemm& g, int64_t m, int64_t n, Steps steps, float chain) {
  for (int64_t k = steps.begin; k < steps.end; ++k) chain = std::fma(at(g.a, m, k), at(g.b, k, n), chain);
  return chain;
}

// Over groups: the whole number of a group times the product of the scales.
float chain_quantised(const Gemm& g, int64_t m, int64_t n, float chain) {
  std::vector<float> weights(static_cast<size_t>(g.K));
  dequantise_row(weights.data(), {g.b.data, g.K, g.b.type}, n);
  for (int64_t k = 0; k < g.K; k += kGroup) {
    int8_t q[kGroup];
    const float scale_x = quantise_group_reference(q, g.a.at(m * g.a.ld + k));
    const float scale_w = scale_of_group({g.b.data, g.K, g.b.type}, n, k / kGroup);
    int32_t sum = 0;
    for (int64_t i = 0; i < kGroup; ++i) {
      const float w = weights[static_cast<size_t>(k + i)];
      sum += q[i] * (scale_w == 0 ? 0 : static_cast<int32_t>(std::nearbyint(w / scale_w)));
    }
    chain = std::fma(static_cast<float>(sum), scale_w * scale_x, chain);
  }
  return chain;
}

float chain(const Gemm& g, int64_t m, int64_t n, float start) {
  if (is_quantised(g.b.type)) return chain_quantised(g, m, n, start);
  const bool bf16 = g.precision == Precision::kBf16 && g.b.type == NumberType::kF32;
  const auto over = [&](Steps steps, float from) {
    return bf16 ? chain_bf16(g, m, n, steps, from) : chain_f32(g, m, n, steps, from);
  };
  if (!g.halves || g.K <= 32) return over({0, g.K}, start);
  const int64_t half = (g.K / 2 + 31) / 32 * 32;
  return over({0, half}, start) + over({half, g.K}, 0.0f);
}

}  // namespace

void gemm_reference(const Gemm& g) {
  for (int64_t m = 0; m < g.M; ++m) {
    for (int64_t n = 0; n < g.N; ++n) {
      float* c = g.c + m * g.ldc + n;
      const float start = g.accumulate ? *c : g.bias ? g.bias[n] : 0.0f;
      *c = chain(g, m, n, start);
    }
  }
  if (g.finish && g.M > 0 && g.N > 0) (*g.finish)({g.c, g.ldc, 0, 0, g.M, g.N});
}

}  // namespace heed::kernels
