// Activations and their gated forms, elementwise over n numbers or rows.
#pragma once

#include <cstdint>

namespace heed::kernels {

enum class Activation { kNone, kRelu, kGelu, kGeluTanh, kSilu };

// y = act(x). May work in place.
void activate(float* y, const float* x, int64_t n, Activation act);
void activate_reference(float* y, const float* x, int64_t n, Activation act);
// dx (+)= dy * act'(x), x being the input of the forward. dx may be dy when not accumulating.
void activate_backward(float* dx, const float* x, const float* dy, int64_t n, Activation act, bool accumulate);
void activate_backward_reference(float* dx, const float* x, const float* dy, int64_t n, Activation act,
                                 bool accumulate);

// The same on one thread, for the tiles of a product that is still in cache: row r at x + r * ldx.
void activate_rows(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns, Activation act);
// y *= act'(x)
void scale_by_derivative_rows(float* y, int64_t ldy, const float* x, int64_t ldx, int64_t rows, int64_t columns,
                              Activation act);

// Gated: y = act(gate) * up, n numbers each.
void gate(float* y, const float* gate_in, const float* up, int64_t n, Activation act);
void gate_reference(float* y, const float* gate_in, const float* up, int64_t n, Activation act);
struct GateBackward {
  int64_t n;
  const float *gate_in, *up, *dy;
  float *dgate, *dup;
  bool accumulate_gate, accumulate_up;
  Activation act;
};
void gate_backward(const GateBackward& b);
void gate_backward_reference(const GateBackward& b);

}  // namespace heed::kernels
