#include <algorithm>

#include "heed/base/threads.h"
#include "heed/kernels/embedding.h"
#include "heed/tensor/op_check.h"
#include "heed/tensor/ops.h"

namespace heed {

Tensor with_class_row(const Tensor& x_in, const Tensor& first, const Tensor& positions_in, const Spans& spans) {
  const Tensor x = contiguous(x_in), positions = positions_in ? contiguous(positions_in) : Tensor();
  const int64_t C = x.cols(), B = spans.count(), n = spans.longest();
  check_rows("with_class_row", "patches", x, spans.tokens() - B);
  check_shape("with_class_row", "class row", first, {C});
  if (n * B != spans.tokens()) {
    fail("[with_class_row] images of different sizes: the longest has {} rows, {} images have {}", n, B,
         spans.tokens());
  }
  if (positions) check_columns("with_class_row", "positions", positions, C);
  if (positions && n > positions.rows())
    fail("[with_class_row] {} rows an image: the table of positions has {}", n, positions.rows());
  Tensor y = Tensor::empty({spans.tokens(), C});
  parallel_for(B, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin * n; t < end * n; ++t) {
      const float* from = t % n == 0 ? first.data() : x.data() + (t - t / n - 1) * C;
      const float* position = positions ? positions.data() + t % n * C : nullptr;
      for (int64_t c = 0; c < C; ++c) y.data()[t * C + c] = position ? from[c] + position[c] : from[c];
    }
  });
  on_backward(y, {x, first, positions}, [x, first, positions, spans, B, n, C](const Tensor& dy) {
    if (const GradTarget dx = x.grad_target()) {
      parallel_for(B, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * (n - 1) * C; i < end * (n - 1) * C; ++i) {
          const int64_t row = i / C, source = row + row / (n - 1) + 1;
          dx.data[i] = (dx.accumulate ? dx.data[i] : 0) + dy.data()[source * C + i % C];
        }
      });
    }
    if (const GradTarget df = first.zeroed_grad_target()) {
      for (int64_t b = 0; b < B; ++b) {
        for (int64_t c = 0; c < C; ++c) df.data[c] += dy.data()[b * n * C + c];
      }
    }
    if (const GradTarget dp = positions.zeroed_grad_target()) {
      kernels::embedding_backward(dp.data, dy.data(), reinterpret_cast<const int32_t*>(spans.positions().data()), B * n,
                                  C, positions.rows(), 1);
    }
  });
  return y;
}

}  // namespace heed
