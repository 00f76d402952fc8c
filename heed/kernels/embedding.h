// Rows of a table by id. table: (V, C); ids: (T); y, dy: (T, C). Ids are checked by the caller.
#pragma once

#include <cstdint>

#include "heed/kernels/numbers.h"

namespace heed::kernels {

// y = scale * table[id] (+ positions[position[t]] where given, not scaled)
struct Embedding {
  int64_t T, C, V;
  NumberTable table;  // (V, C)
  const int32_t* ids;
  float scale = 1;
  const float* positions = nullptr;           // (P, C)
  const uint32_t* position_of_row = nullptr;  // (T), each < P
};
void embedding(float* y, const Embedding& e);
void embedding_reference(float* y, const Embedding& e);

// dtable[id] += scale * dy, each row's tokens added in the order of t whatever the number of threads.
void embedding_backward(float* dtable, const float* dy, const int32_t* ids, int64_t T, int64_t C, int64_t V,
                        float scale);
void embedding_backward_reference(float* dtable, const float* dy, const int32_t* ids, int64_t T, int64_t C, int64_t V,
                                  float scale);

}  // namespace heed::kernels
