// Matrix products. Every output is one chain of fused multiply-adds over k = 0, 1, 2, ... (in bf16 1, 0, 3, 2, ...: pairs,
// the second first, as the instruction adds them), or the sum of two where that is asked for, whatever the blocking, the
// threads or the number of rows: the bits of a row never depend on its neighbours.
#pragma once

#include <cstdint>

#include "heed/base/threads.h"
#include "heed/kernels/numbers.h"

namespace heed::kernels {

enum class Precision { kF32, kBf16 };  // bf16: inputs rounded to bf16, products summed in f32

// A matrix in memory: element (i, j) at data[i * ld + j], or at data[j * ld + i] when transposed.
struct Operand {
  const void* data;
  int64_t ld;
  bool transposed = false;
  NumberType type = NumberType::kF32;  // another one for b alone, with the chain of the f32 that 16 bits stand for

  template <class T = float>
  const T* at(int64_t element = 0) const {
    return static_cast<const T*>(data) + element;
  }
};

// Called on one thread for each finished tile of c while it is in cache.
struct Tile {
  float* c;
  int64_t ldc, row, column, rows, columns;
};

struct Gemm {
  int64_t M, N, K;
  Operand a, b;  // (M, K), (K, N)
  float* c;      // (M, N)
  int64_t ldc;
  bool accumulate = false;      // the chain starts at c, whatever the bias
  const float* bias = nullptr;  // (N): otherwise at the bias, where there is one
  const FunctionRef<void(const Tile&)>* finish = nullptr;
  Precision precision = Precision::kF32;  // kBf16 only where b holds f32
  // Two chains, one over each half of k (in multiples of 32, and of more than 32), are added in the end: two threads read
  // half of b each, from end to end. Quantised b has one chain in any case.
  bool halves = false;
};
void gemm(const Gemm& g);
void gemm_reference(const Gemm& g);

// True where this CPU multiplies bf16 natively; elsewhere kBf16 is computed, to the same rounding, slowly.
bool has_native_bf16();
// True where it sums products of four bytes in one instruction.
bool has_native_int8();

}  // namespace heed::kernels
