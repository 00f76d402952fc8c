#include "heed/kernels/activation.h"

#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/activation.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

namespace {  // elementwise.cpp has an over() with a grain of its own

constexpr int64_t kGrain = 8192;  // floats that are worth a thread

// body(Act{}) for the activation that `act` names
template <class Body>
HWY_INLINE void with_activation(Activation act, Body body) {
  switch (act) {
    case Activation::kNone:
      return body(Identity());
    case Activation::kRelu:
      return body(Relu());
    case Activation::kGelu:
      return body(Gelu());
    case Activation::kGeluTanh:
      return body(GeluTanh());
    case Activation::kSilu:
      return body(Silu());
  }
}

// step(i, lanes) over [0, n), by threads where n is large
template <class Step>
HWY_INLINE void over(int64_t n, Step step) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    by_sixteen(end - begin, [&](int64_t i, auto lanes) HWY_ATTR { step(begin + i, lanes); });
  });
}

}  // namespace

void activate_backward_all(float* dx, const float* x, const float* dy, int64_t n, Activation act, bool accumulate) {
  with_activation(act, [=](auto a) HWY_ATTR {
    over(n, [=](int64_t i, auto lanes) HWY_ATTR {
      const Floats16 d = load(dy + i, lanes) * a.both(load(x + i, lanes)).slope;
      store(accumulate ? load(dx + i, lanes) + d : d, dx + i, lanes);
    });
  });
}

HWY_NOINLINE void activate_tile(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns,
                                Activation act) {
  with_activation(act, [=](auto a) HWY_ATTR {
    for (int64_t t = 0; t < rows; ++t) {
      by_sixteen(columns, [=](int64_t i, auto lanes)
                              HWY_ATTR { store(a.value(load(x + t * ldx + i, lanes)), y + t * ldy + i, lanes); });
    }
  });
}

void activate_all(float* y, const float* x, int64_t n, Activation act) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) HWY_ATTR {
    activate_tile(y + begin, 0, x + begin, 0, 1, end - begin, act);
  });
}

void scale_by_derivative_tile(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns,
                              Activation act) {
  with_activation(act, [=](auto a) HWY_ATTR {
    for (int64_t t = 0; t < rows; ++t) {
      by_sixteen(columns, [=](int64_t i, auto lanes) HWY_ATTR {
        float* to = y + t * ldy + i;
        store(load(to, lanes) * a.both(load(x + t * ldx + i, lanes)).slope, to, lanes);
      });
    }
  });
}

void gate_all(float* y, const float* gate_in, const float* up, int64_t n, Activation act) {
  with_activation(act, [=](auto a) HWY_ATTR {
    over(n, [=](int64_t i, auto lanes)
                HWY_ATTR { store(a.value(load(gate_in + i, lanes)) * load(up + i, lanes), y + i, lanes); });
  });
}

void gate_backward_all(const GateBackward& b) {
  with_activation(b.act, [&](auto a) HWY_ATTR {
    over(b.n, [&](int64_t i, auto lanes) HWY_ATTR {
      const Both g = a.both(load(b.gate_in + i, lanes));
      const Floats16 dy = load(b.dy + i, lanes), up = load(b.up + i, lanes);
      const Floats16 dgate = dy * up * g.slope, dup = dy * g.value;
      store(b.accumulate_gate ? load(b.dgate + i, lanes) + dgate : dgate, b.dgate + i, lanes);
      store(b.accumulate_up ? load(b.dup + i, lanes) + dup : dup, b.dup + i, lanes);
    });
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(activate_all);
HWY_EXPORT(activate_backward_all);
HWY_EXPORT(activate_tile);
HWY_EXPORT(scale_by_derivative_tile);
HWY_EXPORT(gate_all);
HWY_EXPORT(gate_backward_all);

void activate(float* y, const float* x, int64_t n, Activation act) { HWY_DYNAMIC_DISPATCH(activate_all)(y, x, n, act); }

void activate_backward(float* dx, const float* x, const float* dy, int64_t n, Activation act, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(activate_backward_all)(dx, x, dy, n, act, accumulate);
}

void activate_rows(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns, Activation act) {
  HWY_DYNAMIC_DISPATCH(activate_tile)(y, ldy, x, ldx, rows, columns, act);
}

void scale_by_derivative_rows(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns,
                              Activation act) {
  HWY_DYNAMIC_DISPATCH(scale_by_derivative_tile)(y, ldy, x, ldx, rows, columns, act);
}

void gate(float* y, const float* gate_in, const float* up, int64_t n, Activation act) {
  HWY_DYNAMIC_DISPATCH(gate_all)(y, gate_in, up, n, act);
}

void gate_backward(const GateBackward& b) { HWY_DYNAMIC_DISPATCH(gate_backward_all)(b); }

}  // namespace heed::kernels
#endif
