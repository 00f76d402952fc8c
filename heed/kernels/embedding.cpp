#include "heed/kernels/embedding.h"

#include <algorithm>

#include "heed/base/buffer.h"
#include "heed/base/threads.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/embedding.cpp"
#include <hwy/foreach_target.h>

#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// A row of f32 as it lies, another one by way of `to`.
const float* row_of(const NumberTable& table, int64_t row, float* to) {
  if (table.type == NumberType::kF32) return static_cast<const float*>(table.data) + row * table.ld;
  copy_row(to, table, row);
  return to;
}

void embedding_rows(float* y, const Embedding& e) {
  const int64_t C = e.C;
  if (C <= 0) return;
  parallel_for(e.T, std::max<int64_t>(1, 16384 / C), [&](int64_t begin, int64_t end) HWY_ATTR {
    const Floats16 by = set(e.scale);
    for (int64_t t = begin; t < end; ++t) {
      float* to = y + t * C;
      const float* row = row_of(e.table, e.ids[t], to);
      if (e.positions) {
        const float* position = e.positions + static_cast<int64_t>(e.position_of_row[t]) * C;
        by_sixteen(C, [=](int64_t i, auto lanes)
                          HWY_ATTR { store(fma(by, load(row + i, lanes), load(position + i, lanes)), to + i, lanes); });
      } else {
        by_sixteen(C, [=](int64_t i, auto lanes) HWY_ATTR { store(by * load(row + i, lanes), to + i, lanes); });
      }
    }
  });
}

// to += scale * the rows of dy named in tokens, one after the other
HWY_INLINE void add_rows(float* to, const float* dy, const int32_t* tokens, int64_t count, int64_t C, Floats16 by) {
  const auto step = [&](int64_t i, auto lanes) HWY_ATTR {
    Floats16 total = load(to + i, lanes);
    for (int64_t k = 0; k < count; ++k) total = fma(by, load(dy + tokens[k] * C + i, lanes), total);
    store(total, to + i, lanes);
  };
  int64_t i = 0;
  // Four registers of columns at a time: whole cache lines, and additions that do not wait for each other.
  for (; i + 4 * kWidth <= C; i += 4 * kWidth) {
    Floats16 total[4];
    for (int j = 0; j < 4; ++j) total[j] = load(to + i + j * kWidth);
    for (int64_t k = 0; k < count; ++k) {
      const float* row = dy + tokens[k] * C + i;
      for (int j = 0; j < 4; ++j) total[j] = fma(by, load(row + j * kWidth), total[j]);
    }
    for (int j = 0; j < 4; ++j) store(total[j], to + i + j * kWidth);
  }
  by_sixteen(C - i, [&](int64_t k, auto lanes) HWY_ATTR { step(i + k, lanes); });
}

void embedding_backward_ids(float* dtable, const float* dy, const int32_t* sorted, const int32_t* first,
                            const int32_t* used, int64_t used_count, int64_t C, float scale) {
  parallel_for(used_count, std::max<int64_t>(1, 16384 / C), [=](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t id = used[u];
      add_rows(dtable + id * C, dy, sorted + first[id], first[id + 1] - first[id], C, set(scale));
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(embedding_rows);
HWY_EXPORT(embedding_backward_ids);

void embedding(float* y, const Embedding& e) { HWY_DYNAMIC_DISPATCH(embedding_rows)(y, e); }

// A counting sort brings the tokens of an id together in the order of t; each id is then one thread's.
void embedding_backward(float* dtable, const float* dy, const int32_t* ids, int64_t T, int64_t C, int64_t V,
                        float scale) {
  if (T <= 0 || C <= 0) return;
  const Scratch<int32_t> first(V + 2), sorted(T), used(std::min(T, V));
  std::fill(first.data(), first.data() + V + 2, 0);
  for (int64_t t = 0; t < T; ++t) ++first[ids[t] + 2];
  int64_t used_count = 0;
  for (int64_t v = 0; v < V; ++v) {
    if (first[v + 2] > 0) used[used_count++] = static_cast<int32_t>(v);
    first[v + 2] += first[v + 1];
  }
  // first[v + 1] is where id v starts; filling moves it to where v + 1 starts.
  for (int64_t t = 0; t < T; ++t) sorted[first[ids[t] + 1]++] = static_cast<int32_t>(t);
  HWY_DYNAMIC_DISPATCH(embedding_backward_ids)
  (dtable, dy, sorted.data(), first.data(), used.data(), used_count, C, scale);
}

}  // namespace heed::kernels
#endif
