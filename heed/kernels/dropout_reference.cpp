#include <cmath>

#include "heed/base/random.h"
#include "heed/kernels/dropout.h"

namespace heed::kernels {
namespace {

// The 16-bit number of one element: eight come from one Philox call.
uint32_t element_value(uint64_t key, uint32_t sequence, uint32_t position, int64_t column) {
  const int64_t group = column / 128, j = column % 128 / 16, lane = column % 16;
  const Philox words = philox({static_cast<uint32_t>(group * 16 + lane), position, sequence, 0},
                              {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
  return words[static_cast<size_t>(j / 2)] >> (j % 2 * 16) & 0xFFFF;
}

bool stays(const uint64_t* row, int64_t c) { return row[c / 64] >> (c % 64) & 1; }

float scale_of(float p) { return p < 1 ? 1 / (1 - p) : 0; }

}  // namespace

void dropout_mask_reference(uint64_t* keep, const RowIds& ids, int64_t T, int64_t C, const Dropout& dropout) {
  const uint32_t threshold = static_cast<uint32_t>(std::lround(double{dropout.p} * 65536));
  for (int64_t t = 0; t < T; ++t) {
    uint64_t* row = keep + t * mask_words(C);
    for (int64_t w = 0; w < mask_words(C); ++w) row[w] = 0;
    for (int64_t c = 0; c < C; ++c) {
      const bool stay = element_value(dropout.key, ids.sequence[t], ids.position[t], c) >= threshold;
      row[c / 64] |= uint64_t{stay} << (c % 64);
    }
  }
}

void apply_mask_reference(float* y, const float* x, const uint64_t* keep, int64_t T, int64_t C, float p,
                          bool accumulate) {
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t c = 0; c < C; ++c) {
      const float v = stays(keep + t * mask_words(C), c) ? x[t * C + c] * scale_of(p) : 0;
      y[t * C + c] = accumulate ? y[t * C + c] + v : v;
    }
  }
}

void residual_dropout_reference(float* y, uint64_t* keep, const float* x, const float* f, const RowIds& ids, int64_t T,
                                int64_t C, const Dropout& dropout) {
  dropout_mask_reference(keep, ids, T, C, dropout);
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t c = 0; c < C; ++c) {
      const float v = stays(keep + t * mask_words(C), c) ? f[t * C + c] * scale_of(dropout.p) : 0;
      y[t * C + c] = x[t * C + c] + v;
    }
  }
}

}  // namespace heed::kernels
