#include "heed/tensor/early_grad.h"

#include <atomic>

#include "heed/base/error.h"
#include "heed/kernels/elementwise.h"
#include "heed/tensor/autograd.h"

namespace heed {
namespace {

std::atomic<uint64_t> next_ticket{1};

float* gradient(const detail::Node& n) { return n.grad.data() + n.grad_offset; }

}  // namespace

EarlyGrad::EarlyGrad(const Tensor& of) {
  if (!of || !of.requires_grad()) return;
  if (!of.contiguous()) fail("[autograd] an early gradient of shape {}: expected rows without gaps", of.shape().str());
  of_ = of;
  detail::Node& n = *of.node();
  const uint64_t ticket = next_ticket.fetch_add(1, std::memory_order_relaxed);
  uint64_t nobody = 0;
  const bool idle = n.grad_shared && !n.grad_written && n.n_written == 0;
  if (idle && n.lent.compare_exchange_strong(nobody, ticket)) {
    ticket_ = ticket;
  } else {
    own_ = Buffer(of.numel());
  }
}

EarlyGrad::~EarlyGrad() {
  if (!ticket_) return;
  of_.node()->evicted = Buffer();
  of_.node()->lent = 0;
}

float* EarlyGrad::data() const {
  if (!of_) return nullptr;
  const detail::Node& n = *of_.node();
  return own_ ? own_.data() : n.evicted ? n.evicted.data() : gradient(n);
}

void EarlyGrad::hand_over(float scale) {
  if (!of_) return;
  detail::Node& n = *of_.node();
  if (scale != 1) kernels::scale(data(), data(), scale, of_.numel(), false);
  if (ticket_ && !n.evicted) {
    n.grad_written = true;  // it lies where it belongs
  } else {
    of_.add_grad(Tensor::view_of(own_ ? own_ : n.evicted, 0, of_.shape()));
  }
}

}  // namespace heed
