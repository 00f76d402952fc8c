// Activation checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"): a part of a model keeps
// its inputs alone, and its backward runs the part again. Slower by a forward, to the same bits.
#pragma once

#include <utility>

#include "heed/tensor/autograd.h"
#include "heed/tensor/ops.h"

namespace heed {
namespace detail {

// Whether ops on this thread record, while one lives.
class Recording {
 public:
  explicit Recording(bool wanted);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  bool before_;
};

// The same numbers, where a history ends: the gradient is written into x's, whose own backward waits for its turn.
Tensor history_ends(const Tensor& x);

}  // namespace detail

// part(x, memory), a function of these and of parameters that gives the same whenever it is called; memory may be empty.
// What x does not lead to a gradient of is kept as ever.
template <class Part>
Tensor recomputed(const Tensor& x, const Tensor& memory, Part part) {
  if (!grad_enabled() || !x.requires_grad()) return part(x, memory);
  Tensor y;
  {
    const detail::Recording off(false);
    y = part(x, memory).detach();
  }
  on_backward(y, {x, memory}, [x, memory, part = std::move(part), precision = current_precision()](const Tensor& dy) {
    const PrecisionScope as_before(precision);
    Tensor again;
    {
      const detail::Recording on(true);
      again = part(detail::history_ends(x), detail::history_ends(memory));
    }
    if (again.requires_grad()) again.backward(dy);  // a part may leave its inputs aside
  });
  return y;
}

}  // namespace heed
