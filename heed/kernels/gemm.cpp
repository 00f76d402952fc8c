#include "heed/kernels/gemm.h"

#include "heed/base/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include "heed/kernels/gemm_micro-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

int64_t pieces(int64_t n, int64_t piece) { return (n + piece - 1) / piece; }

// [0, n) in `count` parts whose sizes differ by one at most.
struct Parts {
  int64_t n, count;
  int64_t begin(int64_t i) const { return i * (n / count) + std::min(i, n % count); }
  int64_t size(int64_t i) const { return begin(i + 1) - begin(i); }
};

// How a product is cut. Sizes are in caches: a block of a (rows x k) and the strip of b stay in L2, the part of c a
// strip covers too.
struct Plan {
  int64_t k_block, row_panels, column_groups, strips;
  bool packed_b;  // b is packed once for all panels
  bool packed_a;
};

constexpr int64_t kBlockK = 256, kWholeK = 384, kWorthThreads = int64_t{1} << 20;

Plan make_plan(const Gemm& g) {
  Plan plan;
  // Below a few microseconds of work a second thread costs more than it brings.
  const int64_t threads = g.M * g.N * g.K < kWorthThreads ? 1 : num_threads();
  plan.k_block = g.K <= kWholeK ? std::max<int64_t>(g.K, 1) : (pieces(g.K, pieces(g.K, kBlockK)) + 3) / 4 * 4;
  plan.strips = pieces(g.N, kStrip);
  const int64_t panel = g.a.transposed ? 256 : 192;
  plan.row_panels = pieces(g.M, panel);
  plan.packed_b = plan.row_panels > 1 && g.K * g.N <= (int64_t{8} << 20) && !g.a.transposed;
  if (!plan.packed_b) plan.row_panels = pieces(g.M, 384);
  plan.packed_a = g.a.transposed || (g.a.ld % 512 == 0 && g.N >= 2 * kStrip);
  plan.column_groups = 1;
  const int64_t wanted = threads == 1 ? 1 : 4 * threads;
  if (g.K > plan.k_block) plan.column_groups = pieces(plan.strips, 512 / kStrip);
  if (plan.row_panels * plan.column_groups < wanted) plan.column_groups = std::min(plan.strips, pieces(wanted, plan.row_panels));
  if (threads > 1 && plan.row_panels * plan.column_groups < wanted) {
    plan.row_panels = std::min(pieces(g.M, 2 * kRows), pieces(wanted, plan.column_groups));
  }
  return plan;
}

class Product {
 public:
  explicit Product(const Gemm& g) : g_(g), plan_(make_plan(g)), shared_b_(plan_.packed_b ? packed_size() : 0) {}

  void run() {
    if (plan_.packed_b) {
      parallel_for(plan_.strips, 1, [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) pack_whole_strip(s);
      });
    }
    const int64_t items = plan_.row_panels * plan_.column_groups;
    parallel_for(items, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_item(i % plan_.row_panels, i / plan_.row_panels);
    });
  }

 private:
  int64_t packed_size() const { return plan_.strips * kStrip * g_.K; }
  int64_t strip_columns(int64_t strip) const { return std::min<int64_t>(kStrip, g_.N - strip * kStrip); }

  void pack_whole_strip(int64_t strip) {
    float* out = shared_b_.data() + strip * kStrip * g_.K;
    pack_strip(out, g_.b, 0, g_.K, strip * kStrip, strip_columns(strip));
  }

  void run_item(int64_t panel, int64_t group) {
    const Parts panels{g_.M, plan_.row_panels}, groups{plan_.strips, plan_.column_groups};
    const int64_t row = panels.begin(panel), rows = panels.size(panel);
    const int64_t first_strip = groups.begin(group), last_strip = first_strip + groups.size(group);
    const Scratch<float> own_b(plan_.packed_b ? 0 : kStrip * plan_.k_block);
    const Scratch<float> own_a(plan_.packed_a ? pieces(rows, kRows) * kRowPitch * (plan_.k_block + 16) : 0);
    for (int64_t k = 0; k == 0 || k < g_.K; k += plan_.k_block) {
      const int64_t k_size = std::min(plan_.k_block, g_.K - k);
      MicroTile t{};
      t.k = k_size;
      t.b_step = kStrip;
      if (plan_.packed_a) pack_a(own_a.data(), row, rows, k, k_size);
      for (int64_t strip = first_strip; strip < last_strip; ++strip) {
        if (plan_.packed_b) {
          t.b = shared_b_.data() + (strip * g_.K + k) * kStrip;
        } else {
          pack_strip(own_b.data(), g_.b, k, k_size, strip * kStrip, strip_columns(strip));
          t.b = own_b.data();
        }
        run_strip(t, own_a.data(), row, rows, k, strip);
        if (g_.finish && k + k_size >= g_.K) {
          const int64_t column = strip * kStrip;
          (*g_.finish)({g_.c + row * g_.ldc + column, g_.ldc, row, column, rows, strip_columns(strip)});
        }
      }
    }
  }

  void pack_a(float* out, int64_t row, int64_t rows, int64_t k, int64_t k_size) const {
    if (!g_.a.transposed) {
      for (int64_t r = 0; r < rows; ++r) {
        std::memcpy(out + r * (plan_.k_block + 16), g_.a.data + (row + r) * g_.a.ld + k, static_cast<size_t>(k_size) * 4);
      }
      return;
    }
    const Parts groups{rows, pieces(rows, kRows)};
    for (int64_t i = 0; i < groups.count; ++i) {
      const int64_t r = row + groups.begin(i);
      pack_columns(out + i * kRowPitch * plan_.k_block, g_.a.data + k * g_.a.ld + r, g_.a.ld, k_size, groups.size(i),
                   g_.M - r);
    }
  }

  // All rows of the panel against one packed strip.
  void run_strip(MicroTile t, const float* packed_a, int64_t row, int64_t rows, int64_t k, int64_t strip) const {
    const int64_t column = strip * kStrip, columns = strip_columns(strip);
    const int vectors = static_cast<int>(pieces(columns, kNative));
    alignas(64) float start[kStrip] = {};
    const bool from_c = k > 0 || g_.accumulate;
    if (!from_c && g_.bias) std::memcpy(start, g_.bias + column, static_cast<size_t>(columns) * sizeof(float));
    const Parts groups{rows, pieces(rows, kRows)};
    for (int64_t i = 0; i < groups.count; ++i) {
      const int64_t r = groups.begin(i);
      const int size = static_cast<int>(groups.size(i));
      point_to_a(t, packed_a, row + r, r, i, k);
      t.c = g_.c + (row + r) * g_.ldc + column;
      t.ldc = g_.ldc;
      t.start = from_c ? t.c : start;
      t.start_ld = from_c ? g_.ldc : 0;
      const MicroKernel kernel = g_.a.transposed ? micro_kernel<false>(size, vectors) : micro_kernel<true>(size, vectors);
      if (columns % kNative == 0) {
        kernel(t);
      } else {
        run_partial(t, kernel, size, columns, from_c);
      }
    }
  }

  void point_to_a(MicroTile& t, const float* packed_a, int64_t row, int64_t r, int64_t group, int64_t k) const {
    if (g_.a.transposed) {
      t.a = packed_a + group * kRowPitch * plan_.k_block;
      t.a_step = kRowPitch;
    } else if (plan_.packed_a) {
      t.a_row = plan_.k_block + 16;
      t.a = packed_a + r * t.a_row;
    } else {
      t.a = g_.a.data + row * g_.a.ld + k;
      t.a_row = g_.a.ld;
    }
  }

  // The last columns do not fill a register: they go by a tile of their own.
  static void run_partial(MicroTile t, MicroKernel kernel, int rows, int64_t columns, bool from_c) {
    alignas(64) float tile[kRows * kStrip] = {};
    const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
    float* const c = t.c;
    if (from_c) {
      for (int r = 0; r < rows; ++r) std::memcpy(tile + r * kStrip, c + r * t.ldc, bytes);
      t.start = tile;
      t.start_ld = kStrip;
    }
    const int64_t ldc = t.ldc;
    t.c = tile;
    t.ldc = kStrip;
    kernel(t);
    for (int r = 0; r < rows; ++r) std::memcpy(c + r * ldc, tile + r * kStrip, bytes);
  }

  const Gemm& g_;
  const Plan plan_;
  const Scratch<float> shared_b_;
};

void gemm_f32(const Gemm& g) { Product(g).run(); }

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(gemm_f32);

void gemm(const Gemm& g) {
  if (g.M <= 0 || g.N <= 0) return;
  HWY_DYNAMIC_DISPATCH(gemm_f32)(g);
}

}  // namespace heed::kernels
#endif
