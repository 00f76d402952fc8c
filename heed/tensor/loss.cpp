#include "heed/kernels/loss.h"

#include <algorithm>
#include <limits>

#include "heed/kernels/elementwise.h"
#include "heed/tensor/early_grad.h"
#include "heed/tensor/linear.h"
#include "heed/tensor/op_check.h"

namespace heed {
namespace {

void check_agreement(std::span<const int32_t> targets, float agreement) {
  if (!(agreement >= 0 && agreement < std::numeric_limits<float>::infinity()))
    fail("[vocabulary_loss] agreement {}: expected 0 or more", agreement);
  if (agreement == 0) return;
  const auto middle = targets.begin() + static_cast<std::ptrdiff_t>(targets.size() / 2);
  if (!std::equal(targets.begin(), middle, middle, targets.end()))
    fail("[vocabulary_loss] agreement of {} targets: expected the second half to be the first again", targets.size());
}

}  // namespace

LossResult vocabulary_loss(const Tensor& x_in, const LinearWeight& given, std::span<const int32_t> targets,
                           const LossArgs& args) {
  const Tensor x = contiguous(x_in);
  detail::check_linear("vocabulary_loss", x, given);
  const LinearWeight w{contiguous(given.weight), given.bias, given.layout};
  check_rows("vocabulary_loss", "input", x, static_cast<int64_t>(targets.size()));
  if (!(args.smoothing >= 0 && args.smoothing < 1))
    fail("[vocabulary_loss] smoothing {}: expected 0 <= s < 1", args.smoothing);
  check_agreement(targets, args.agreement);
  LossResult result;
  for (const int32_t target : targets) {
    if (target >= w.out()) fail("[vocabulary_loss] target {}: the vocabulary has {}", target, w.out());
    result.rows += target >= 0;
  }
  const int64_t T = x.rows();
  const float scale = args.scale != 0 ? args.scale : result.rows ? 1.0f / static_cast<float>(result.rows) : 0.0f;
  const Tensor row_loss = Tensor::empty({T}), row_nll = Tensor::empty({T});
  const bool training =
      grad_enabled() && (x.requires_grad() || w.weight.requires_grad() || (w.bias && w.bias.requires_grad()));
  const Tensor dx = training && x.requires_grad() ? Tensor::empty(x.shape()) : Tensor();
  EarlyGrad dw(training ? w.weight : Tensor()), db(training ? w.bias : Tensor());
  kernels::vocabulary_loss({.T = T,
                            .C = w.in(),
                            .V = w.out(),
                            .x = x.data(),
                            .weight = detail::operand_of(w),
                            .bias = w.bias ? w.bias.data() : nullptr,
                            .targets = targets.data(),
                            .smoothing = args.smoothing,
                            .agreement = args.agreement,
                            .precision = current_precision(),
                            .row_loss = row_loss.data(),
                            .row_nll = row_nll.data(),
                            .grad_scale = scale,
                            .dx = dx ? dx.data() : nullptr,
                            .dweight = dw.data(),
                            .dbias = db.data(),
                            .accumulate = false});
  result.loss = Tensor::scalar(static_cast<float>(scale * kernels::sum(row_loss.data(), T)));
  result.nll = kernels::sum(row_nll.data(), T);
  if (args.keep_rows) result.row_nll = row_nll.to_vector();
  on_backward(result.loss, {x, w.weight, w.bias},
              [x, dx, dw = std::move(dw), db = std::move(db)](const Tensor& dy) mutable {
                const float by = dy.item();
                if (dx && by != 1) kernels::scale(dx.data(), dx.data(), by, dx.numel(), false);
                if (dx) x.add_grad(dx);
                dw.hand_over(by);
                db.hand_over(by);
              });
  return result;
}

}  // namespace heed
