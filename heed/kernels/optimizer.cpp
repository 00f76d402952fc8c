#include "heed/kernels/optimizer.h"

#include <cmath>

#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/optimizer.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"
#include "heed/kernels/sum64-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int64_t kGrain = 16384;

double sum_of_squares(const float* g, int64_t n) {
  return sum64(g, n, [](auto v) HWY_ATTR { return hn::Mul(v, v); });
}

void adam_all(const AdamStep& s) {
  const double correction1 = 1 - std::pow(s.beta1, static_cast<double>(s.step));
  const double correction2 = 1 - std::pow(s.beta2, static_cast<double>(s.step));
  const float step_size = static_cast<float>(s.lr / correction1);
  const float inverse_root = static_cast<float>(1 / std::sqrt(correction2));
  const float decay = static_cast<float>(1 - s.lr * s.weight_decay);
  const float rest1 = static_cast<float>(1 - s.beta1), rest2 = static_cast<float>(1 - s.beta2);
  parallel_for(s.n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Floats16 grad_scale = set(s.grad_scale), beta2 = set(static_cast<float>(s.beta2)), keep = set(decay),
                   root_scale = set(inverse_root);
    const Floats16 new1 = set(rest1), new2 = set(rest2), eps = set(static_cast<float>(s.eps)), lr = set(-step_size);
    by_sixteen(end - begin, [&](int64_t k, auto lanes) HWY_ATTR {
      const int64_t i = begin + k;
      const Floats16 g = load(s.g + i, lanes) * grad_scale;
      Floats16 m = load(s.m + i, lanes), v = load(s.v + i, lanes);
      m = fma(g - m, new1, m);
      v = fma(g * g, new2, v * beta2);
      const Floats16 w = load(s.w + i, lanes) * keep;
      const Floats16 step = m / fma(sqrt(v), root_scale, eps);
      store(m, s.m + i, lanes);
      store(v, s.v + i, lanes);
      store(fma(step, lr, w), s.w + i, lanes);
    });
  });
}

void sgd_all(const SgdStep& s) {
  parallel_for(s.n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Floats16 grad_scale = set(s.grad_scale), mu = set(s.mu), decay = set(s.weight_decay), lr = set(-s.lr);
    by_sixteen(end - begin, [&](int64_t k, auto lanes) HWY_ATTR {
      const int64_t i = begin + k;
      const Floats16 w = load(s.w + i, lanes);
      Floats16 g = fma(decay, w, load(s.g + i, lanes) * grad_scale);
      if (s.momentum) {
        g = fma(mu, load(s.momentum + i, lanes), g);
        store(g, s.momentum + i, lanes);
      }
      store(fma(lr, g, w), s.w + i, lanes);
    });
  });
}

void moving_average_all(float* average, const float* w, float keep, int64_t n) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    const Floats16 old_share = set(keep), new_share = set(1 - keep);
    by_sixteen(end - begin, [&](int64_t k, auto lanes) HWY_ATTR {
      const int64_t i = begin + k;
      store(old_share * load(average + i, lanes) + new_share * load(w + i, lanes), average + i, lanes);
    });
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(sum_of_squares);
HWY_EXPORT(adam_all);
HWY_EXPORT(sgd_all);
HWY_EXPORT(moving_average_all);

double norm2(const float* g, int64_t n) { return std::sqrt(HWY_DYNAMIC_DISPATCH(sum_of_squares)(g, n)); }
void adam(const AdamStep& s) { HWY_DYNAMIC_DISPATCH(adam_all)(s); }
void sgd(const SgdStep& s) { HWY_DYNAMIC_DISPATCH(sgd_all)(s); }
void moving_average(float* average, const float* w, float keep, int64_t n) {
  HWY_DYNAMIC_DISPATCH(moving_average_all)(average, w, keep, n);
}

}  // namespace heed::kernels
#endif
