// The gradient checker: what backward() says of a function against central differences of the function itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heed/tensor/tensor.h"

namespace heed {

using Differentiable = std::function<Tensor(const std::vector<Tensor>&)>;

struct GradCheck {
  double step = 1e-2;       // of an input, relative to its size where that is above 1
  double tolerance = 2e-3;  // norm of the difference over the norm of the gradient
};

// "" where the gradients of a random projection of f's output agree for every one of the inputs, else which does not
// and by how much. The inputs are leaves of the caller's; their gradients are left cleared.
std::string grad_check(const Differentiable& f, const std::vector<Tensor>& inputs, const GradCheck& how = {});

}  // namespace heed
