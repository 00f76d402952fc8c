// Dropout: zero with probability p, else scale by 1 / (1 - p). Which elements fall is a pure function of
// (key, sequence number in the global batch, position in the sequence, column), so batches, accumulation
// and processes agree.
#pragma once

#include <cstdint>

namespace heed::kernels {

struct Dropout {
  float p = 0;       // 0: nothing happens
  uint64_t key = 0;  // of one place in one step: dropout_key(seed, step, layer)
};
uint64_t dropout_key(uint64_t seed, uint64_t step, uint64_t layer);

// Who each row of a ragged (T, C) matrix is.
struct RowIds {
  const uint32_t* sequence = nullptr;  // (T) number of the row's sequence in the global batch
  const uint32_t* position = nullptr;  // (T) position of the row in its sequence
};

// One bit an element: bit c % 64 of word c / 64 of the row is set where the element stays. (T, words_per_row)
inline int64_t mask_words(int64_t columns) { return (columns + 63) / 64; }

// keep: (T, mask_words(C)) is written.
void dropout_mask(uint64_t* keep, const RowIds& ids, int64_t T, int64_t C, const Dropout& dropout);
void dropout_mask_reference(uint64_t* keep, const RowIds& ids, int64_t T, int64_t C, const Dropout& dropout);

// y = keep ? x / (1 - p) : 0, for the forward and, with gradients, the backward. May work in place.
void apply_mask(float* y, const float* x, const uint64_t* keep, int64_t T, int64_t C, float p, bool accumulate);
void apply_mask_reference(float* y, const float* x, const uint64_t* keep, int64_t T, int64_t C, float p,
                          bool accumulate);

// The same in place on a tile of a (T, C) matrix whose mask exists, on one thread: for products' finishing.
struct MaskedTile {
  float* x;
  int64_t ld;
  const uint64_t* keep;                   // of the whole matrix
  int64_t C, row, column, rows, columns;  // column % 16 == 0
  float p;
};
void apply_mask_tile(const MaskedTile& tile);

// y = x + dropout(f) in one pass; the bits it drew are left in keep.   x, f, y: (T, C)
void residual_dropout(float* y, uint64_t* keep, const float* x, const float* f, const RowIds& ids, int64_t T, int64_t C,
                      const Dropout& dropout);
void residual_dropout_reference(float* y, uint64_t* keep, const float* x, const float* f, const RowIds& ids, int64_t T,
                                int64_t C, const Dropout& dropout);

}  // namespace heed::kernels
