#include <algorithm>

#include "heed/base/threads.h"
#include "heed/kernels/elementwise.h"
#include "heed/kernels/gemm_kinds.h"

namespace heed::kernels {
namespace {

constexpr int64_t kHalfSteps = 32;  // halves are multiples of this

// What is read at step k and later.
Operand from_step(const Operand& x, int64_t k, bool steps_are_rows) {
  const int64_t elements = steps_are_rows != x.transposed ? k * x.ld : k;
  Operand later = x;
  later.data = x.type == NumberType::kF32 ? static_cast<const void*>(x.at(elements)) : x.at<uint16_t>(elements);
  return later;
}

}  // namespace

bool in_halves(const Gemm& g) { return g.halves && g.K > kHalfSteps; }

Halves::Halves(const Gemm& g, float* second_c) : whole(g), first(g), second(g) {
  first.halves = second.halves = false;
  first.finish = second.finish = nullptr;
  first.K = (g.K / 2 + kHalfSteps - 1) / kHalfSteps * kHalfSteps;
  second.K = g.K - first.K;
  second.a = from_step(g.a, first.K, false);
  second.b = from_step(g.b, first.K, true);
  second.c = second_c;
  second.ldc = g.N;
  second.accumulate = false;
  second.bias = nullptr;
}

void Halves::join() const {
  constexpr int64_t kWorthAThread = 1 << 14;
  const int64_t rows_a_chunk = std::max<int64_t>(1, kWorthAThread / whole.N);
  parallel_for(whole.M, rows_a_chunk, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* c = whole.c + row * whole.ldc;
      add(c, c, second.c + row * second.ldc, whole.N);
    }
    if (whole.finish) (*whole.finish)({whole.c + begin * whole.ldc, whole.ldc, begin, 0, end - begin, whole.N});
  });
}

}  // namespace heed::kernels
