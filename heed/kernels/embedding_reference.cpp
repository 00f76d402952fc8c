#include <cstddef>
#include <vector>

#include "heed/kernels/embedding.h"
namespace heed::kernels {

void embedding_reference(float* y, const Embedding& e) {
  std::vector<float> row(static_cast<size_t>(e.C));
  for (int64_t t = 0; t < e.T; ++t) {
    copy_row(row.data(), e.table, e.ids[t]);
    for (int64_t c = 0; c < e.C; ++c) {
      double value = double{e.scale} * row[static_cast<size_t>(c)];
      if (e.positions) value += e.positions[e.position_of_row[t] * e.C + c];
      y[t * e.C + c] = static_cast<float>(value);
    }
  }
}

void embedding_backward_reference(float* dtable, const float* dy, const int32_t* ids, int64_t T, int64_t C, int64_t V,
                                  float scale) {
  for (int64_t v = 0; v < V; ++v) {
    for (int64_t c = 0; c < C; ++c) {
      double total = dtable[v * C + c];
      for (int64_t t = 0; t < T; ++t) total += ids[t] == v ? double{scale} * dy[t * C + c] : 0;
      dtable[v * C + c] = static_cast<float>(total);
    }
  }
}

}  // namespace heed::kernels
