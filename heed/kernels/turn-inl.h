// Some steps of several rows become as many registers with a row in each lane.
#if defined(HEED_KERNELS_TURN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_TURN_INL_H_
#undef HEED_KERNELS_TURN_INL_H_
#else
#define HEED_KERNELS_TURN_INL_H_
#endif

#include "heed/kernels/simd-inl.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The quad (four numbers) of rows row, row + 4, row + 8, ... one after the other in one register. Rows is an array of
// pointers, or what gives a pointer for each row.
template <class D, class Rows>
HWY_INLINE hn::Vec<D> load_quads(D d, const Rows& rows, int row, int64_t k) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(rows[row] + k));
  } else {
    const hn::Half<D> half;
    constexpr int kHalf = static_cast<int>(hn::MaxLanes(hn::Half<D>()));
    return hn::Combine(d, load_quads(half, rows, row + kHalf, k), load_quads(half, rows, row, k));
  }
}
// v[i] holds the quads of rows i, i + 4, ...; then word i of every row.
HWY_INLINE void turn_quads(Native (&v)[4]) {
  const Tag d;
  const hn::RepartitionToWide<Tag> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}
// w[i] holds eight words of row i, and those of row i + 8 behind them where there is room; then word i of every row.
HWY_INLINE void turn_eights(Native (&w)[8]) {
  Native first[4] = {w[0], w[1], w[2], w[3]}, second[4] = {w[4], w[5], w[6], w[7]};
  turn_quads(first);
  turn_quads(second);
  for (int i = 0; i < 4; ++i) {
    w[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(second[i]), first[i]);
    w[4 + i] = hn::OddEvenBlocks(second[i], hn::SwapAdjacentBlocks(first[i]));
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
