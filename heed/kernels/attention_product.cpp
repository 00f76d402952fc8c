#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heed/kernels/attention_product.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <utility>

#include "heed/kernels/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

struct Group {
  const float* a;
  int64_t a_step;  // the stride of A that is not 1
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row, depth;
  const float* start;  // what the chains start with; one row of zeros for all where that is nothing
  int64_t start_row;
  const float* factor;
  const float* fetch;  // asked for along the way, fetch_step apart
  int64_t fetch_step;
  bool check_first, check_last;  // whether the sums of that row must be finite
};

alignas(64) constexpr float kZeros[4 * kWidth] = {};

template <int kRegisters>
HWY_INLINE bool all_finite(const Native* x) {
  const auto nothing = hn::Zero(Tag());
  auto zero = nothing;  // NaN as soon as one is not finite
  for (int v = 0; v < kRegisters; ++v) zero = hn::MulAdd(x[v], nothing, zero);
  return hn::AllTrue(Tag(), hn::Eq(zero, nothing));
}

// kRows x (kVectors * 16) outputs in registers. A's rows lie side by side (kColumns: element (r, k) at
// a[k * a_step + r]) or along the depth (at a[r * a_step + k]). False, and nothing written, when a check finds sums
// that are not finite.
template <int kRows, int kVectors, bool kColumns>
HWY_NOINLINE bool multiply_group(const Group& g) {
  constexpr int kRegisters = kVectors * kParts;
  constexpr int kBases = (kRows + 2) / 3;
  const Tag d;
  Native acc[kRows][kRegisters];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kRegisters; ++v) acc[r][v] = hn::LoadU(d, g.start + r * g.start_row + v * kNative);
  }
  const int64_t step = g.a_step, b_row = g.b_row;
  // Three rows share a base register: base, base + step and base + 2 step are all addressing modes.
  const float* base[kBases];
  for (int i = 0; i < kBases; ++i) base[i] = g.a + (kColumns ? 0 : 3 * i * step);
  const float* b = g.b;
  const float* fetch = g.fetch;
  const int64_t fetch_step = g.fetch_step;
  int64_t k = g.depth;  // at least 1: a loop that may not run would keep the sums in memory
  do {
    if (kRegisters > 1) {  // a single register's loop has no load to spare
      __builtin_prefetch(fetch, 0, 2);
      fetch += fetch_step;
    }
    Native bv[kRegisters];
    for (int v = 0; v < kRegisters; ++v) bv[v] = hn::LoadU(d, b + v * kNative);
    for (int r = 0; r < kRows; ++r) {
      const Native av = hn::Set(d, kColumns ? base[0][r] : base[r / 3][(r % 3) * step]);
      for (int v = 0; v < kRegisters; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
    if (kColumns) {
      base[0] += step;
    } else {
      for (int i = 0; i < kBases; ++i) ++base[i];
    }
    b += b_row;
  } while (--k > 0);
  if ((g.check_first && !all_finite<kRegisters>(acc[0])) || (g.check_last && !all_finite<kRegisters>(acc[kRows - 1]))) {
    return false;
  }
  if (g.factor) {
    for (int r = 0; r < kRows; ++r) {
      const Native factor = hn::Set(d, g.factor[r]);
      for (int v = 0; v < kRegisters; ++v) hn::StoreU(hn::Mul(acc[r][v], factor), d, g.c + r * g.c_row + v * kNative);
    }
    return true;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kRegisters; ++v) hn::StoreU(acc[r][v], d, g.c + r * g.c_row + v * kNative);
  }
  return true;
}

// A group that needs no depth at all.
void write_start(const Group& g, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      g.c[r * g.c_row + c] = g.start[r * g.start_row + c] * (g.factor ? g.factor[r] : 1.0f);
  }
}

// AVX-512 has 32 registers: 14 x 1, 12 x 2, 8 x 3, 6 x 4 vectors. AVX2 has 16: 6 rows of two registers.
constexpr int kMaxVectors = kParts == 1 ? 4 : 1;
constexpr int max_rows(int vectors) {
  if (kParts > 2) return 2;
  if (kParts == 2) return 6;
  return vectors == 1 ? 14 : vectors == 2 ? 12 : vectors == 3 ? 8 : 6;
}

// Whether A's rows lie side by side.
bool has_columns(const TileProduct& p) { return p.a_row == 1 && p.a_depth != 1; }

using Kernel = bool (*)(const Group&);
template <int kVectors, bool kColumns, size_t... kIndex>
constexpr std::array<Kernel, kMaxGroup> kernels_of(std::index_sequence<kIndex...>) {
  return {&multiply_group<static_cast<int>(kIndex) + 1, kVectors, kColumns>...};
}
template <int kVectors, bool kColumns>
constexpr std::array<Kernel, kMaxGroup> kKernels =
    kernels_of<kVectors, kColumns>(std::make_index_sequence<static_cast<size_t>(max_rows(kVectors))>());

const Kernel* kernels_for(int64_t vectors, bool columns) {
  if constexpr (kMaxVectors == 4) {
    if (vectors == 4) return columns ? kKernels<4, true>.data() : kKernels<4, false>.data();
    if (vectors == 3) return columns ? kKernels<3, true>.data() : kKernels<3, false>.data();
    if (vectors == 2) return columns ? kKernels<2, true>.data() : kKernels<2, false>.data();
  }
  return columns ? kKernels<1, true>.data() : kKernels<1, false>.data();
}

// Rows [row, next) and the columns from `vector` on. They go together, so each reads what any of them needs; the row
// that needs all of that is checked, since zero times what is not finite would reach the others.
Group group_of(const TileProduct& p, int64_t vector, int64_t row, int64_t next) {
  const int64_t begin = std::max<int64_t>(0, row + p.begin), end = std::min(p.depth, next - 1 + p.end);
  Group g{};
  g.a = p.a + row * p.a_row + begin * p.a_depth;
  g.a_step = has_columns(p) ? p.a_depth : p.a_row;
  g.b = p.b + begin * p.b_row + vector * kWidth;
  g.b_row = p.b_row;
  g.c = p.c + row * p.c_row + vector * kWidth;
  g.c_row = p.c_row;
  g.depth = end - begin;
  g.start = p.start ? p.start + row * p.start_row + vector * kWidth : kZeros;
  g.start_row = p.start ? p.start_row : 0;
  g.factor = p.factor ? p.factor + row : nullptr;
  g.fetch = kZeros;
  g.check_first = next - 1 + p.begin > begin;
  g.check_last = row + p.end < end;
  return g;
}

void multiply_panel(const TileProduct& p, int64_t vector, int64_t vectors) {
  const Kernel* kernels = kernels_for(vectors, has_columns(p));
  const int64_t most = max_rows(static_cast<int>(vectors));
  const auto multiply = [&](const Group& g, int64_t rows) {
    if (g.depth > 0) return kernels[rows - 1](g);
    write_start(g, rows, vectors * kWidth);
    return true;
  };
  // Groups of nearly equal height: a last group of one or two rows would wait for its own additions.
  const int64_t groups = (p.rows + most - 1) / most;
  for (int64_t i = 0, row = 0; i < groups; ++i) {
    const int64_t next = p.rows * (i + 1) / groups;
    Group g = group_of(p, vector, row, next);
    if (p.ahead && vectors * kParts > 1) {
      g.fetch = p.ahead->at();
      g.fetch_step = p.ahead->step();
      p.ahead->move(g.depth);
    }
    const bool done = multiply(g, next - row);
    // Each row alone goes through the same chain, without what it does not need.
    for (; row < next; ++row) {
      if (!done) multiply(group_of(p, vector, row, row + 1), 1);
    }
  }
}

}  // namespace

void product(const TileProduct& p) {
  for (int64_t vector = 0; vector < p.vectors;) {
    const int64_t left = p.vectors - vector;
    const int64_t take = left == 5 && kMaxVectors == 4 ? 3 : std::min<int64_t>(kMaxVectors, left);
    multiply_panel(p, vector, take);
    vector += take;
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
