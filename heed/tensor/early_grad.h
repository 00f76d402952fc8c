// A gradient that an op computes in its forward, where it costs least, and that its backward hands over: nobody sees it
// before, and if the backward never comes it is as if it had not been computed. A parameter lends the memory of its own
// gradient for it as long as that is not in use, so that handing over costs nothing.
#pragma once

#include <cstdint>
#include <utility>

#include "heed/tensor/tensor.h"

namespace heed {

class EarlyGrad {
 public:
  EarlyGrad() = default;
  explicit EarlyGrad(const Tensor& of);  // a contiguous one; nothing where no gradient is wanted
  EarlyGrad(EarlyGrad&& other) noexcept
      : of_(std::move(other.of_)), own_(std::move(other.own_)), ticket_(std::exchange(other.ticket_, 0)) {}
  EarlyGrad& operator=(EarlyGrad&&) = delete;
  ~EarlyGrad();

  float* data() const;  // laid out as the tensor, to be written; null where not wanted
  // Adds `scale` times what was written to the tensor's gradient. Once.
  void hand_over(float scale);

 private:
  Tensor of_;
  Buffer own_;           // where nothing was lent
  uint64_t ticket_ = 0;  // of the loan
};

}  // namespace heed
