#include "heed/kernels/rotary.h"

namespace heed::kernels {

void rotary_reference(float* y, int64_t ldy, const float* x, int64_t ldx, const Rotary& r, bool accumulate) {
  const int64_t half = r.turned / 2;
  const auto put = [accumulate](float& to, double value) { to = static_cast<float>(accumulate ? to + value : value); };
  for (int64_t t = 0; t < r.T; ++t) {
    for (int64_t h = 0; h < r.heads; ++h) {
      const float* from = x + t * ldx + h * r.D;
      float* to = y + t * ldy + h * r.D;
      for (int64_t i = 0; i < half; ++i) {
        const int64_t first = r.interleaved ? 2 * i : i, second = r.interleaved ? 2 * i + 1 : i + half;
        const double a = from[first], b = from[second], c = r.cos[r.position_of_row[t] * half + i];
        const double s = (r.inverse ? -1.0 : 1.0) * r.sin[r.position_of_row[t] * half + i];
        put(to[first], a * c - b * s);
        put(to[second], a * s + b * c);
      }
      for (int64_t i = r.turned; i < r.D; ++i) put(to[i], from[i]);
    }
  }
}

}  // namespace heed::kernels
