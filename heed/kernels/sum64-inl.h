// Sums of floats in double, the same at any number of threads and on every CPU.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_SUM64_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SUM64_INL_H_
#undef HEED_KERNELS_SUM64_INL_H_
#else
#define HEED_KERNELS_SUM64_INL_H_
#endif

#include <algorithm>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

using Tag64 = hn::CappedTag<double, 8>;
constexpr int kNative64 = kNative > 1 ? kNative / 2 : 1;
constexpr int kParts64 = kWidth / kNative64;

// The sum of map(x) over one piece, in sixteen running sums. n of any size
template <class Map>
HWY_INLINE double sum64_piece(const float* x, int64_t n, Map map) {
  const Tag64 d;
  const hn::Rebind<float, Tag64> df;
  hn::Vec<Tag64> s[kParts64];
  for (int k = 0; k < kParts64; ++k) s[k] = hn::Zero(d);
  const auto add16 = [&](const float* p) HWY_ATTR {
    for (int k = 0; k < kParts64; ++k) s[k] = hn::Add(s[k], map(hn::PromoteTo(d, hn::LoadU(df, p + k * kNative64))));
  };
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) add16(x + i);
  if (i < n) {
    alignas(64) float rest[kWidth];
    store(load_n(x + i, n - i), rest);
    add16(rest);
  }
  alignas(64) double t[kWidth];
  for (int k = 0; k < kParts64; ++k) hn::StoreU(s[k], d, t + k * kNative64);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) t[k] += t[k + half];
  }
  return t[0];
}

// The sum of map(x[i]), map(0) being 0, over fixed pieces added in order.
template <class Map>
HWY_INLINE double sum64(const float* x, int64_t n, Map map) {
  constexpr int64_t kPiece = 16384;
  if (n <= kPiece) return sum64_piece(x, n, map);
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  const Scratch<double> partial(pieces);
  parallel_for(pieces, 4, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t p = begin; p < end; ++p)
      partial[p] = sum64_piece(x + p * kPiece, std::min(kPiece, n - p * kPiece), map);
  });
  double total = 0;
  for (int64_t p = 0; p < pieces; ++p) total += partial[p];
  return total;
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
