#include "heed/tensor/grad_check.h"

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace heed {
namespace {

// Random directions for many numbers; a scalar keeps its own, since a loss accepts no other gradient than 1.
Tensor direction(const Shape& shape) {
  Tensor r = Tensor::full(shape, 1);
  Random random(20170612);
  if (shape.rank() > 0) std::generate_n(r.data(), r.numel(), [&] { return random.normal(); });
  return r;
}

double project(const Tensor& y, const Tensor& r) {
  const std::vector<float> values = y.to_vector();
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(values[i]) * r.data()[i];
  return sum;
}

}  // namespace

std::string grad_check(const Differentiable& f, const std::vector<Tensor>& inputs, const GradCheck& how) {
  const ThreadsScope one_thread(1);  // thousands of tiny calls: a second one would only be waited for
  for (Tensor x : inputs) x.set_requires_grad().clear_grad();
  const Tensor y = f(inputs), r = direction(y.shape());
  y.backward(r);
  std::string report;
  const NoGrad constant;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<float> claimed = inputs[k].grad().to_vector();
    float* x = inputs[k].data();
    double error = 0, norm = 0;
    for (size_t i = 0; i < claimed.size(); ++i) {
      const float at = x[i], h = static_cast<float>(how.step * std::max(1.0, std::abs(static_cast<double>(at))));
      x[i] = at + h;
      const double high = x[i], above = project(f(inputs), r);
      x[i] = at - h;
      const double low = x[i], below = project(f(inputs), r);
      x[i] = at;
      const double measured = (above - below) / (high - low);
      error += (measured - claimed[i]) * (measured - claimed[i]);
      norm += measured * measured;
    }
    if (!(std::sqrt(error) <= how.tolerance * std::sqrt(norm) + 1e-6)) {
      report += fmt::format("input {} {}: off by {:.3g} of {:.3g}; ", k, inputs[k].shape().str(), std::sqrt(error),
                            std::sqrt(norm));
    }
    Tensor(inputs[k]).clear_grad();
  }
  return report;
}

}  // namespace heed
