#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "heed/kernels/softmax.h"
#include "heed/kernels/top_k.h"

namespace heed::kernels {

void top_k_reference(const TopK& t) {
  std::vector<float> log_probs(static_cast<size_t>(t.C));
  for (int64_t row = 0; row < t.T; ++row) {
    const float* x = t.x + row * t.C;
    log_softmax_reference(log_probs.data(), x, 1, t.C);
    std::vector<int32_t> ids(static_cast<size_t>(t.C));
    std::iota(ids.begin(), ids.end(), 0);
    std::erase_if(ids, [&](int32_t id) { return !(x[id] > -std::numeric_limits<float>::infinity()); });
    std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return x[a] > x[b]; });
    for (int64_t j = 0; j < t.k; ++j) {
      const bool there = j < static_cast<int64_t>(ids.size());
      t.ids[row * t.k + j] = there ? ids[static_cast<size_t>(j)] : -1;
      t.log_probs[row * t.k + j] =
          there ? log_probs[static_cast<size_t>(ids[static_cast<size_t>(j)])] : -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace heed::kernels
