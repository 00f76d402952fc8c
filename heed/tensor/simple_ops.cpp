// Ops that are one kernel forward and one backward.
#include "heed/kernels/norm.h"
#include "heed/kernels/softmax.h"
#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {

Tensor activate(const Tensor& x_in, Activation act) {
  const Tensor x = contiguous(x_in);
  Tensor y = Tensor::empty(x.shape());
  kernels::activate(y.data(), x.data(), x.numel(), act);
  on_backward(y, {x}, [x, act](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::activate_backward(dx.data, x.data(), dy.data(), x.numel(), act, dx.accumulate);
  });
  return y;
}

Tensor gate(const Tensor& gate_in, const Tensor& up_in, Activation act) {
  const Tensor g = contiguous(gate_in), up = contiguous(up_in);
  check_shape("gate", "up", up, g.shape());
  Tensor y = Tensor::empty(g.shape());
  kernels::gate(y.data(), g.data(), up.data(), g.numel(), act);
  on_backward(y, {g, up}, [g, up, act](const Tensor& dy) {
    // Apart is what nobody wants, and the second gradient of a tensor in both roles.
    const Tensor gate_apart = g.requires_grad() ? Tensor() : Tensor::empty(g.shape());
    const Tensor up_apart = up.requires_grad() && !share_gradient(g, up) ? Tensor() : Tensor::empty(g.shape());
    const GradTarget dg = gate_apart ? GradTarget{gate_apart.data(), 0, false} : g.grad_target();
    const GradTarget du = up_apart ? GradTarget{up_apart.data(), 0, false} : up.grad_target();
    kernels::gate_backward(
        {g.numel(), g.data(), up.data(), dy.data(), dg.data, du.data, dg.accumulate, du.accumulate, act});
    if (up_apart) up.add_grad(up_apart);
  });
  return y;
}

Tensor softmax(const Tensor& x_in) {
  const Tensor x = contiguous(x_in);
  Tensor y = Tensor::empty(x.shape());
  kernels::softmax(y.data(), x.data(), x.rows(), x.cols());
  on_backward(y, {x}, [x, out = y.detach()](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::softmax_backward(dx.data, out.data(), dy.data(), x.rows(), x.cols(), dx.accumulate);
  });
  return y;
}

Tensor log_softmax(const Tensor& x_in) {
  const Tensor x = contiguous(x_in);
  Tensor y = Tensor::empty(x.shape());
  kernels::log_softmax(y.data(), x.data(), x.rows(), x.cols());
  on_backward(y, {x}, [x, out = y.detach()](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::log_softmax_backward(dx.data, out.data(), dy.data(), x.rows(), x.cols(), dx.accumulate);
  });
  return y;
}

Tensor layer_norm(const Tensor& x_in, const Tensor& gain, const Tensor& bias, float eps) {
  const Tensor x = contiguous(x_in);
  const int64_t T = x.rows(), C = x.cols();
  check_shape("layer_norm", "gain", gain, {C});
  if (bias) check_shape("layer_norm", "bias", bias, {C});
  Tensor y = Tensor::empty(x.shape());
  const Tensor mean = Tensor::empty({T}), rstd = Tensor::empty({T});
  kernels::layer_norm(
      {T, C, x.data(), gain.data(), bias ? bias.data() : nullptr, eps, y.data(), mean.data(), rstd.data()});
  on_backward(y, {x, gain, bias}, [x, gain, bias, mean, rstd, T, C](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::layer_norm_backward({T, C, x.data(), gain.data(), mean.data(), rstd.data(), dy.data(), dx.data,
                                  dx.accumulate, gain.zeroed_grad_target().data, bias.zeroed_grad_target().data});
  });
  return y;
}

Tensor rms_norm(const Tensor& x_in, const Tensor& gain, float eps) {
  const Tensor x = contiguous(x_in);
  const int64_t T = x.rows(), C = x.cols();
  check_shape("rms_norm", "gain", gain, {C});
  Tensor y = Tensor::empty(x.shape());
  const Tensor rstd = Tensor::empty({T});
  kernels::rms_norm({T, C, x.data(), gain.data(), eps, y.data(), rstd.data()});
  on_backward(y, {x, gain}, [x, gain, rstd, T, C](const Tensor& dy) {
    const GradTarget dx = x.grad_target();
    kernels::rms_norm_backward(
        {T, C, x.data(), gain.data(), rstd.data(), dy.data(), dx.data, dx.accumulate, gain.zeroed_grad_target().data});
  });
  return y;
}

}  // namespace heed
