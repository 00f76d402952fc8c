#include "heed/kernels/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/top_k.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// The best so far, the largest first.
struct Best {
  int64_t k, count;
  int32_t* ids;
  float* values;

  float threshold() const { return count < k ? kNothing : values[k - 1]; }
  void offer(float value, int32_t id) {
    if (!(value > threshold())) return;  // also NaN
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && values[at - 1] < value; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
  }
};

// Most blocks hold nothing better than what is there: one comparison tells.
HWY_INLINE void offer_block(const float* x, int64_t first, int64_t n, Best& best) {
  Floats16 m = set(kNothing);
  for (int64_t i = 0; i < n; i += kWidth) m = max(m, load(x + first + i));
  if (!(max_of(m) > best.threshold())) return;
  for (int64_t i = 0; i < n; ++i) best.offer(x[first + i], static_cast<int32_t>(first + i));
}

void top_of_row(const TopK& t, int64_t row) {
  constexpr int64_t kBlock = 4 * kWidth;
  const float* x = t.x + row * t.C;
  Best best{t.k, 0, t.ids + row * t.k, t.log_probs + row * t.k};
  int64_t i = 0;
  for (; i + kBlock <= t.C; i += kBlock) offer_block(x, i, kBlock, best);
  for (; i < t.C; ++i) best.offer(x[i], static_cast<int32_t>(i));
  std::fill(best.ids + best.count, best.ids + t.k, -1);
  std::fill(best.values + best.count, best.values + t.k, kNothing);
  if (best.count == 0) return;
  const float top = best.values[0];
  const Floats16 shift = set(top);
  const Floats16 total =
      sum_of(t.C, [=](int64_t c, auto lanes) HWY_ATTR { return exp(load(x + c, lanes, kNothing) - shift); });
  const float log_total = static_cast<float>(std::log(static_cast<double>(sum(total))));
  for (int64_t j = 0; j < best.count; ++j) best.values[j] = best.values[j] - top - log_total;
}

void top_of_rows(const TopK& t) {
  parallel_for(t.T, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, t.C)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) top_of_row(t, row);
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(top_of_rows);

void top_k(const TopK& t) {
  if (t.k > 0) HWY_DYNAMIC_DISPATCH(top_of_rows)(t);
}

}  // namespace heed::kernels
#endif
