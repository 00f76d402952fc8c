#include "heed/kernels/gemm.h"

#include "heed/base/buffer.h"
#include "heed/kernels/gemm_kinds.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/gemm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h: once per target.
#include "heed/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int64_t kAheadTiles = std::max(1, kStrip / 4);  // four cache lines in sixteen steps of k: a strip

int64_t pieces(int64_t n, int64_t piece) { return (n + piece - 1) / piece; }

// [0, n) in `count` parts whose sizes differ by one at most, the larger ones first.
struct Parts {
  Parts(int64_t n, int64_t parts) : count(parts), size(n / parts), larger(n % parts) {}
  int64_t begin(int64_t i) const { return i * size + std::min(i, larger); }
  int64_t count, size, larger;
};

// How a product is cut. The numbers keep a block of a (rows x k) and the strip of b in L2.
struct Plan {
  int64_t k_block, row_panels, column_groups, strips;
  bool packed_b;  // once for all panels
  bool packed_a;  // in f32, where transposed: by tiles, lest every step of k lies in a page of its own
};

constexpr int64_t kBlockK = 256, kWholeK = 384;
constexpr int64_t kPanelRows = 192;                  // that find b packed
constexpr int64_t kAloneFloats = 128 << 10;          // of a at least, where a panel packs b for itself
constexpr int64_t kPackedFloats = int64_t{8} << 20;  // of b at most
constexpr int64_t kGroupStrips = 512 / kStrip;       // whose outputs stay in L2 from one block of k to the next
constexpr int64_t kWorthThreads = int64_t{1} << 20;  // multiply-adds: a few microseconds
constexpr int64_t kWorthPacking = 16 * kNative;      // columns: sixteen multiply-adds an element packed

// More items for more threads, about two each. Columns are cut where every panel would pack b anew; rows where b is
// packed for all; else the longer side.
void share(Plan& plan, const Gemm& g, int64_t threads) {
  for (const int64_t least_rows : {16 * kRows, 4 * kRows}) {
    const int64_t wanted = least_rows == 16 * kRows ? 2 * threads : threads;
    while (plan.row_panels * plan.column_groups < wanted) {
      const bool rows_left = g.M / plan.row_panels >= 2 * least_rows, columns_left = plan.column_groups < plan.strips;
      if (!rows_left && !columns_left) break;
      const bool rows_longer = g.M / plan.row_panels > g.N / plan.column_groups;
      const bool cut_rows = plan.packed_b || (rows_longer && !g.b.transposed);
      ++(rows_left && (cut_rows || !columns_left) ? plan.row_panels : plan.column_groups);
    }
  }
  // Equal shares where the threads are equally fast.
  const auto round_up = [=](int64_t& cuts, int64_t most) { cuts = std::min(pieces(cuts, threads) * threads, most); };
  if (plan.column_groups == 1) round_up(plan.row_panels, pieces(g.M, kRows));
  if (plan.row_panels == 1) round_up(plan.column_groups, plan.strips);
}

Plan make_plan(const Gemm& g) {
  Plan plan;
  const int64_t in_a_word = g.precision == Precision::kBf16 ? 2 : 1;
  plan.k_block = std::max<int64_t>(g.K, 1);
  if (g.K > kWholeK * in_a_word) {
    const int64_t steps = 16 * in_a_word;
    plan.k_block = pieces(pieces(g.K, pieces(g.K, kBlockK * in_a_word)), steps) * steps;
  }
  plan.strips = pieces(g.N, kStrip);
  const int64_t alone_rows = std::clamp<int64_t>(kAloneFloats / plan.k_block, 256, 768);
  plan.packed_b = !g.a.transposed && g.K * g.N <= kPackedFloats &&
                  (g.b.transposed ? g.M > alone_rows : g.b.ld > 768 && g.M > 2 * alone_rows);
  plan.row_panels = pieces(g.M, plan.packed_b ? kPanelRows : alone_rows);
  plan.column_groups = g.K > plan.k_block ? pieces(plan.strips, kGroupStrips) : 1;
  const int64_t threads = g.M * g.N * g.K < kWorthThreads ? 1 : num_threads();
  if (threads > 1) share(plan, g, threads);
  const bool far_apart = g.a.transposed && g.a.ld >= 384;
  plan.packed_a = g.precision == Precision::kF32 && far_apart && g.N >= kWorthPacking * plan.column_groups;
  return plan;
}

// What one thread computes at a time.
struct Item {
  int64_t row, rows, first_strip, last_strip;
  float *a, *b;  // memory of its own to pack into
};

// Numbers is F32 or Bf16<>: how operands are packed and multiplied.
template <class Numbers>
class Product {
 public:
  explicit Product(const Gemm& g)
      : g_(g), plan_(make_plan(g)), shared_b_(plan_.packed_b ? plan_.strips * kStrip * words(g.K) : 0) {}

  void run() {
    if (plan_.packed_b) pack_b();
    const int64_t items = plan_.row_panels * plan_.column_groups;
    parallel_for(items, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_item(i % plan_.row_panels, i / plan_.row_panels);
    });
  }

 private:
  using Step = typename Numbers::Step;
  static constexpr int64_t words(int64_t k) { return Numbers::words(k); }
  int64_t strip_columns(int64_t strip) const { return std::min<int64_t>(kStrip, g_.N - strip * kStrip); }

  const float* shared_strip(int64_t strip, int64_t k) const {
    return shared_b_.data() + (strip * words(g_.K) + words(k)) * kStrip;
  }

  void pack_b() {
    const int64_t grain = pieces(int64_t{1} << 16, kStrip * std::max<int64_t>(1, g_.K));
    parallel_for(plan_.strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        Numbers::pack_strip(shared_b_.data() + s * kStrip * words(g_.K), {g_.b, 0, g_.K, s * kStrip, strip_columns(s)});
      }
    });
  }

  void run_item(int64_t panel, int64_t group) const {
    const Parts panels(g_.M, plan_.row_panels), groups(plan_.strips, plan_.column_groups);
    Item item{};
    item.row = panels.begin(panel), item.rows = panels.begin(panel + 1) - item.row;
    item.first_strip = groups.begin(group), item.last_strip = groups.begin(group + 1);
    const Scratch<float> own_b(plan_.packed_b ? 0 : kStrip * words(plan_.k_block));
    const int64_t a_floats = Numbers::kPacksA ? item.rows * words(plan_.k_block)
                             : plan_.packed_a ? pieces(item.rows, kRows) * kRows * plan_.k_block
                                              : 0;
    const Scratch<float> own_a(a_floats);
    item.a = own_a.data(), item.b = own_b.data();
    for (int64_t k = 0; k == 0 || k < g_.K; k += plan_.k_block) {
      if constexpr (Numbers::kPacksA) {
        Numbers::pack_a(item.a, {g_.a, item.row, item.rows, k, std::min(plan_.k_block, g_.K - k)});
      } else if (plan_.packed_a) {
        pack_a(item, k);
      }
      for (int64_t strip = item.first_strip; strip < item.last_strip; ++strip) {
        run_strip(item, k, strip);
        if (g_.finish && k + plan_.k_block >= g_.K) {
          const int64_t column = strip * kStrip;
          (*g_.finish)({g_.c + item.row * g_.ldc + column, g_.ldc, item.row, column, item.rows, strip_columns(strip)});
        }
      }
    }
  }

  // Tiles of kRows columns, as the kernels read them. A few tiles at once: whole cache lines, and few pages to write to.
  void pack_a(const Item& item, int64_t k) const {
    constexpr int64_t kAtOnce = 16, kAhead = 8;
    const Parts tiles(item.rows, pieces(item.rows, kRows));
    const int64_t k_size = std::min(plan_.k_block, g_.K - k);
    for (int64_t first = 0; first < tiles.count; first += kAtOnce) {
      const int64_t last = std::min(first + kAtOnce, tiles.count);
      for (int64_t i = 0; i < k_size; ++i) {
        const float* from = g_.a.at((k + i) * g_.a.ld + item.row);
        float* to = item.a + (first * k_size + i) * kRows;
        for (int64_t tile = first; tile < last; ++tile, to += k_size * kRows) {
          const int64_t row = tiles.begin(tile);
          __builtin_prefetch(from + row + kAhead * g_.a.ld);
          if (row + kRows <= item.rows) {
            std::memcpy(to, from + row, kRows * sizeof(float));
          } else {
            std::copy(from + row, from + item.rows, to);
          }
        }
      }
    }
  }

  // All rows of the item against one strip of b.
  void run_strip(const Item& item, int64_t k, int64_t strip) const {
    const int64_t column = strip * kStrip, columns = strip_columns(strip);
    const int64_t vectors = kernel_vectors<Step>(columns);
    const Parts groups(item.rows, pieces(item.rows, kRows));
    MicroTiles t{};
    t.k = words(std::min(plan_.k_block, g_.K - k));
    point_to_a(t, item, k);
    point_to_b(t, item, k, strip, groups.count);
    t.c = g_.c + item.row * g_.ldc + column;
    t.ldc = g_.ldc;
    alignas(64) float start[kStrip] = {};
    const bool from_c = k > 0 || g_.accumulate;
    if (!from_c && g_.bias) std::memcpy(start, g_.bias + column, static_cast<size_t>(columns) * sizeof(float));
    t.start = from_c ? t.c : start;
    t.start_ld = from_c ? g_.ldc : 0;
    const auto run = [&](int64_t tiles, int64_t rows) {
      if (tiles == 0) return;
      const MicroKernel kernel = g_.a.transposed ? micro_kernel<Step, false>(rows, vectors, t.b_copy != nullptr)
                                                 : micro_kernel<Step, true>(rows, vectors, t.b_copy != nullptr);
      t.tiles = tiles;
      t.a_tile = plan_.packed_a ? kRows * t.k : rows * (g_.a.transposed ? 1 : t.a_row);
      if (columns == vectors * kNative) return kernel(t);
      run_partial(t, kernel, rows, columns, from_c);
    };
    int64_t done = 0;
    const auto run_until = [&](int64_t group) {
      const int64_t larger = std::clamp<int64_t>(groups.larger - done, 0, group - done);
      run(larger, groups.size + 1);
      run(group - done - larger, groups.size);
      done = group;
    };
    for (int64_t part = 0; part < parts_ahead(); ++part) {
      look_ahead(t, item, {k, strip, part});
      if (t.b_copy) {
        float* const packed = t.b_copy;
        run_until(1);
        t.b = packed, t.b_step = kStrip, t.b_copy = nullptr;
      }
      const int64_t last = (part + 1) * kAheadTiles;
      run_until(std::min(last, groups.count));
      fetch_rest(t, std::min(last - groups.count, kAheadTiles));
    }
    look_nowhere(t);
    run_until(groups.count);
  }

  void point_to_a(MicroTiles& t, const Item& item, int64_t k) const {
    if (Numbers::kPacksA) {
      t.a = item.a;
      t.a_row = t.k;
      t.a_step = item.rows;
    } else if (plan_.packed_a) {
      t.a = item.a;
      t.a_step = kRows;
    } else if (g_.a.transposed) {
      t.a = g_.a.at(k * g_.a.ld + item.row);
      t.a_step = g_.a.ld;
    } else {
      t.a = g_.a.at(item.row * g_.a.ld + k);
      t.a_row = g_.a.ld;
    }
  }

  // Packed before, packed now, or read as it lies: by the first rows, which leave a packed copy to the others.
  void point_to_b(MicroTiles& t, const Item& item, int64_t k, int64_t strip, int64_t row_groups) const {
    const int64_t column = strip * kStrip, columns = strip_columns(strip);
    if (plan_.packed_b) {
      t.b = shared_strip(strip, k);
      t.b_step = kStrip;
    } else if (Numbers::kPacksA || !as_it_lies() || columns != kernel_vectors<Step>(columns) * kNative) {
      Numbers::pack_strip(item.b, {g_.b, k, std::min(plan_.k_block, g_.K - k), column, columns});
      t.b = item.b;
      t.b_step = kStrip;
    } else {
      t.b = g_.b.at(k * g_.b.ld + column);
      t.b_step = g_.b.ld;
      // Copying pays where cache lines of b lie far apart, or the copy stays in L1 for many rows.
      const bool far_apart = kStrip < 64 || g_.b.ld > 768;
      const bool pays = (far_apart && row_groups > 2) || (t.k <= 128 && row_groups >= 32);
      t.b_copy = pays && columns == kStrip ? item.b : nullptr;
    }
  }

  // What more tiles would have looked ahead to.
  static void fetch_rest(const MicroTiles& t, int64_t tiles) {
    if (t.ahead_step == 0) return;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const float* line = t.ahead + tile * t.ahead_tile;
      for (int64_t k = 0; k + 16 <= t.k; k += 16, line += t.ahead_step) {
        for (int i = 0; i < 4; ++i) __builtin_prefetch(line + i * t.ahead_line, 0, 2);
      }
    }
  }

  bool as_it_lies() const { return !g_.b.transposed && g_.b.type == NumberType::kF32; }

  static void look_nowhere(MicroTiles& t) {
    t.ahead = t.a;
    t.ahead_line = t.ahead_step = t.ahead_tile = 0;
  }
  // A word of bf16 is two numbers of b, which is fetched as it lies: one half of k, then the other.
  int64_t parts_ahead() const { return Numbers::kPacksA && !plan_.packed_b ? 2 : 1; }
  struct Place {
    int64_t k, strip, part;
  };
  void look_ahead(MicroTiles& t, const Item& item, Place now) const {
    look_nowhere(t);
    auto [k, strip, part] = now;
    if (++strip == item.last_strip) {
      strip = item.first_strip;
      k += plan_.k_block;
    }
    if (k >= g_.K || strip_columns(strip) < kStrip || kStrip < 16) return;
    const int64_t k_a_tile = t.k / kAheadTiles;
    k += part * t.k;
    if (plan_.packed_b) {
      t.ahead = shared_strip(strip, k);
      t.ahead_line = 16, t.ahead_step = 64, t.ahead_tile = k_a_tile * kStrip;
    } else if (g_.b.type != NumberType::kF32) {
      // Two numbers a float.
      t.ahead = g_.b.at((g_.b.transposed ? strip * kStrip * g_.b.ld + k : k * g_.b.ld + strip * kStrip) / 2);
      t.ahead_line = g_.b.ld / 2, t.ahead_tile = 2 * g_.b.ld, t.ahead_step = g_.b.transposed ? 8 : 8 * g_.b.ld;
    } else if (g_.b.transposed) {
      t.ahead = g_.b.at(strip * kStrip * g_.b.ld + k);
      t.ahead_line = g_.b.ld, t.ahead_step = 16, t.ahead_tile = 4 * g_.b.ld;
    } else {
      t.ahead = g_.b.at(k * g_.b.ld + strip * kStrip);
      constexpr int64_t kRowsOfLines = std::max(1, 64 / kStrip);  // that four lines hold
      t.ahead_line = kRowsOfLines == 1 ? 16 : g_.b.ld;
      t.ahead_step = kRowsOfLines * g_.b.ld, t.ahead_tile = k_a_tile * g_.b.ld;
    }
  }

  // The last columns do not fill a register: they go by a tile of their own.
  void run_partial(MicroTiles& t, MicroKernel kernel, int64_t rows, int64_t columns, bool from_c) const {
    alignas(64) float tile[kRows * kStrip] = {};
    const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
    for (int64_t i = t.tiles; i > 0; --i) {
      float* const c = t.c;
      MicroTiles one = t;
      one.tiles = 1;
      if (from_c) {
        for (int64_t r = 0; r < rows; ++r) std::memcpy(tile + r * kStrip, c + r * g_.ldc, bytes);
        one.start = tile;
        one.start_ld = kStrip;
      }
      one.c = tile;
      one.ldc = kStrip;
      kernel(one);
      for (int64_t r = 0; r < rows; ++r) std::memcpy(c + r * g_.ldc, tile + r * kStrip, bytes);
      t.a = one.a;
      t.c += rows * g_.ldc;
    }
  }

  const Gemm& g_;
  const Plan plan_;
  const Scratch<float> shared_b_;
};

void gemm_f32(const Gemm& g) { Product<F32>(g).run(); }

void gemm_bf16(const Gemm& g) {
#if HWY_TARGET == HWY_AVX3
  if (has_native_bf16()) return Product<Bf16<NativeBf16Step>>(g).run();
#endif
  Product<Bf16<Bf16Step>>(g).run();
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(gemm_f32);
HWY_EXPORT(gemm_bf16);

void gemm(const Gemm& g) {
  if (g.M <= 0 || g.N <= 0) return;
  if (is_quantised(g.b.type)) return gemm_quantised(g);
  const bool bf16 = g.precision == Precision::kBf16 && g.b.type == NumberType::kF32;
  if (!bf16 && gemm_few_rows(g)) return;
  if (in_halves(g)) {
    const Scratch<float> second(g.M * g.N);
    const Halves halves(g, second.data());
    gemm(halves.first);
    gemm(halves.second);
    return halves.join();
  }
  bf16 ? HWY_DYNAMIC_DISPATCH(gemm_bf16)(g) : HWY_DYNAMIC_DISPATCH(gemm_f32)(g);
}

}  // namespace heed::kernels
#endif
