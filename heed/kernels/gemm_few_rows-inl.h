// What products of few rows share.
#if defined(HEED_KERNELS_GEMM_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_FEW_ROWS_INL_H_
#undef HEED_KERNELS_GEMM_FEW_ROWS_INL_H_
#else
#define HEED_KERNELS_GEMM_FEW_ROWS_INL_H_
#endif

#include <type_traits>

#include "heed/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

// A product and its rows turned: element (row, k) at x[k * M + row], so that a step reads one line of memory.
struct FewRows {
  const Gemm& g;
  const float* x;
};

// take(integral_constant R, row) for groups of R rows: as many as there are, then of half as many, down to single rows.
template <int R, class Take>
HWY_INLINE void by_groups(int64_t rows, Take take, int64_t row = 0) {
  for (; row + R <= rows; row += R) take(std::integral_constant<int, R>(), row);
  if constexpr (R > 1) by_groups<R / 2>(rows, take, row);
}

#endif
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
