// The innermost part of a product: a tile of up to kRows x kStrip outputs kept in registers for a whole
// block of k, and the packing of its operands. Six rows by four registers (two where registers are few)
// need the fewest loads a multiply-add of all shapes that fit.
#if defined(HEED_KERNELS_GEMM_MICRO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_GEMM_MICRO_INL_H_
#undef HEED_KERNELS_GEMM_MICRO_INL_H_
#else
#define HEED_KERNELS_GEMM_MICRO_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "heed/kernels/gemm.h"
#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr int kRows = 6;
constexpr int kVectors = kNative == 16 ? 4 : 2;
constexpr int kStrip = kVectors * kNative;
constexpr int kRowPitch = 8;  // floats between steps of k of a packed strip of a: six and two of padding

struct MicroTile {
  const float* a;  // element (r, k) at a[r * a_row + k] by rows, at a[k * a_step + r] by columns
  int64_t a_row, a_step;
  const float* b;  // kStrip floats of step k at b + k * b_step
  int64_t b_step;
  const float* start;  // what the chains start with: row r at start + r * start_ld
  int64_t start_ld;
  float* c;
  int64_t ldc;
  int64_t k;
};

// One step of k: R x NV chains advance by one multiply-add.
template <int R, int NV, class ElementOfA>
HWY_INLINE void micro_step(Native (&acc)[R][NV], const float* HWY_RESTRICT b, ElementOfA element) {
  Native bv[NV];
  for (int v = 0; v < NV; ++v) bv[v] = hn::LoadU(Tag(), b + v * kNative);
  for (int r = 0; r < R; ++r) {
    const Native av = hn::Set(Tag(), element(r));
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
  }
}

template <int R, int NV, bool kByRows>
HWY_NOINLINE void micro_tile(const MicroTile& t) {
  Native acc[R][NV];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) acc[r][v] = hn::LoadU(Tag(), t.start + r * t.start_ld + v * kNative);
  }
  const float* HWY_RESTRICT b = t.b;
  const int64_t b_step = t.b_step;
  int64_t k = t.k;
  if constexpr (kByRows) {
    // Two base pointers and the multiples 0, 1, 2 of a_row reach six rows.
    const int64_t a_row = t.a_row;
    const float* HWY_RESTRICT low = t.a;
    const float* HWY_RESTRICT high = t.a + 3 * a_row;
    const auto step = [&](int u) HWY_ATTR {
      micro_step<R, NV>(acc, b, [&](int r) HWY_ATTR { return r < 3 ? low[r * a_row + u] : high[(r - 3) * a_row + u]; });
      b += b_step;
    };
    for (; k >= 4; k -= 4) {
      for (int u = 0; u < 4; ++u) step(u);
      low += 4;
      high += 4;
    }
    for (; k > 0; --k) {
      step(0);
      ++low;
      ++high;
    }
  } else {
    const float* HWY_RESTRICT a = t.a;
    for (; k > 0; --k) {
      micro_step<R, NV>(acc, b, [&](int r) HWY_ATTR { return a[r]; });
      a += t.a_step;
      b += b_step;
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[r][v], Tag(), t.c + r * t.ldc + v * kNative);
  }
}

using MicroKernel = void (*)(const MicroTile&);
template <bool kByRows, int NV>
HWY_INLINE MicroKernel micro_kernel_rows(int rows) {
  static constexpr MicroKernel kTable[kRows] = {micro_tile<1, NV, kByRows>, micro_tile<2, NV, kByRows>,
                                                micro_tile<3, NV, kByRows>, micro_tile<4, NV, kByRows>,
                                                micro_tile<5, NV, kByRows>, micro_tile<6, NV, kByRows>};
  return kTable[rows - 1];
}
// The kernel for 1..kRows rows and 1..kVectors registers.
template <bool kByRows>
HWY_INLINE MicroKernel micro_kernel(int rows, int vectors) {
  if constexpr (kVectors == 4) {
    if (vectors == 4) return micro_kernel_rows<kByRows, 4>(rows);
    if (vectors == 3) return micro_kernel_rows<kByRows, 3>(rows);
  }
  return vectors == 2 ? micro_kernel_rows<kByRows, 2>(rows) : micro_kernel_rows<kByRows, 1>(rows);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void pack_transposed_block(float* HWY_RESTRICT out, const float* const* rows, int64_t k_size) {
  for (int64_t k = 0; k < k_size; ++k) {
    for (int j = 0; j < kNative; ++j) out[k * kStrip + j] = rows[j][k];
  }
}
#else
// The quad (four floats) of rows 0, 4, 8, ... one after the other in one register.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* const* rows, int64_t k) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, rows[0] + k);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_quads(half, rows + hn::MaxLanes(half), k), load_quads(half, rows, k));
  }
}

// out[k * kStrip + j] = rows[j][k] for kNative rows.
HWY_INLINE void pack_transposed_block(float* HWY_RESTRICT out, const float* const* rows, int64_t k_size) {
  const Tag d;
  const hn::RepartitionToWide<Tag> pairs;
  int64_t k = 0;
  for (; k + 4 <= k_size; k += 4) {
    const Native v0 = load_quads(d, rows, k), v1 = load_quads(d, rows + 1, k);
    const Native v2 = load_quads(d, rows + 2, k), v3 = load_quads(d, rows + 3, k);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
    float* HWY_RESTRICT o = out + k * kStrip;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, o);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, o + kStrip);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, o + 2 * kStrip);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, o + 3 * kStrip);
  }
  for (; k < k_size; ++k) {
    for (int j = 0; j < kNative; ++j) out[k * kStrip + j] = rows[j][k];
  }
}

#endif

// Packs rows [k0, k0 + k_size) and columns [column, column + columns) of b, at most a strip of them. Columns beyond
// hold anything: their outputs are never stored.
HWY_INLINE void pack_strip(float* HWY_RESTRICT out, const Operand& b, int64_t k0, int64_t k_size, int64_t column,
                           int64_t columns) {
  const int vectors = static_cast<int>((columns + kNative - 1) / kNative);
  if (b.transposed) {
    for (int v = 0; v < vectors; ++v) {
      const float* rows[kNative];
      for (int j = 0; j < kNative; ++j) {
        rows[j] = b.data + (column + std::min<int64_t>(v * kNative + j, columns - 1)) * b.ld + k0;
      }
      pack_transposed_block(out + v * kNative, rows, k_size);
    }
    return;
  }
  const float* HWY_RESTRICT from = b.data + k0 * b.ld + column;
  if (columns == kStrip) {
    for (int64_t k = 0; k < k_size; ++k, from += b.ld, out += kStrip) {
      for (int v = 0; v < kVectors; ++v) hn::StoreU(hn::LoadU(Tag(), from + v * kNative), Tag(), out + v * kNative);
    }
    return;
  }
  for (int64_t k = 0; k < k_size; ++k, from += b.ld, out += kStrip) {
    std::memcpy(out, from, static_cast<size_t>(columns) * sizeof(float));
    std::fill(out + columns, out + kStrip, 0.0f);
  }
}

// Packs `rows` columns of a transposed a (its row k at from + k * ld) at a pitch of kRowPitch. `readable` floats
// may be read from each row on.
HWY_INLINE void pack_columns(float* HWY_RESTRICT out, const float* HWY_RESTRICT from, int64_t ld, int64_t k_size,
                             int64_t rows, int64_t readable) {
  const hn::CappedTag<float, kRowPitch> d;
  if (readable >= kRowPitch) {
    for (int64_t k = 0; k < k_size; ++k, from += ld, out += kRowPitch) {
      for (size_t i = 0; i < kRowPitch; i += hn::Lanes(d)) hn::StoreU(hn::LoadU(d, from + i), d, out + i);
    }
    return;
  }
  for (int64_t k = 0; k < k_size; ++k, from += ld, out += kRowPitch) {
    for (int64_t r = 0; r < rows; ++r) out[r] = from[r];
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
