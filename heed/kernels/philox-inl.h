// Philox4x32-10 of sixteen counters at once; the same numbers as philox() of base/random.h.
// Included once per target by foreach_target.h: no ordinary include guard.
#if defined(HEED_KERNELS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_PHILOX_INL_H_
#undef HEED_KERNELS_PHILOX_INL_H_
#else
#define HEED_KERNELS_PHILOX_INL_H_
#endif

#include "heed/base/random.h"
#include "heed/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

using TagU32 = hn::RebindToUnsigned<Tag>;

// Sixteen u32: lane i belongs to counter base + i.
struct Words16 {
  hn::Vec<TagU32> part[kParts];
};
struct Philox16 {
  Words16 word[4];
};

// The keys of the ten rounds, made once for many calls.
struct PhiloxKeys {
  uint64_t first[10], second[10];
};
HWY_INLINE PhiloxKeys philox_keys(uint64_t key) {
  PhiloxKeys keys;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    keys.first[round] = k0;
    keys.second[round] = k1;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return keys;
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE Philox16 philox16(uint32_t base, uint32_t c1, uint32_t c2, uint32_t c3, const PhiloxKeys& keys) {
  Philox16 result;
  for (uint32_t i = 0; i < kWidth; ++i) {
    const Philox one =
        philox({base + i, c1, c2, c3}, {static_cast<uint32_t>(keys.first[0]), static_cast<uint32_t>(keys.second[0])});
    for (uint32_t w = 0; w < 4; ++w) result.word[w].part[i] = hn::Set(TagU32(), one[w]);
  }
  return result;
}

#else

using TagU64 = hn::Repartition<uint64_t, TagU32>;

// Sixteen counters as 64-bit lanes, one in the low half of each: the even ones of every register, then the odd ones.
constexpr int kHalves = 2 * kParts;
using Lanes64 = hn::Vec<TagU64>;

// Ten rounds on all of them side by side. The multiplication reads the low halves alone, so what the rounds leave in
// the high halves does no harm.
HWY_INLINE void philox_rounds(Lanes64 (&c)[4][kHalves], const PhiloxKeys& keys) {
  const TagU32 d32;
  const TagU64 d64;
  const auto m0 = hn::Set(d32, 0xD2511F53u), m1 = hn::Set(d32, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const Lanes64 k0 = hn::Set(d64, keys.first[round]), k1 = hn::Set(d64, keys.second[round]);
    for (int h = 0; h < kHalves; ++h) {
      const Lanes64 p0 = hn::MulEven(m0, hn::BitCast(d32, c[0][h])), p1 = hn::MulEven(m1, hn::BitCast(d32, c[2][h]));
      c[0][h] = hn::Xor3(hn::ShiftRight<32>(p1), c[1][h], k0);
      c[2][h] = hn::Xor3(hn::ShiftRight<32>(p0), c[3][h], k1);
      c[1][h] = p1;
      c[3][h] = p0;
    }
  }
}

// Counters {base + i, c1, c2, c3} for i in [0, 16).
HWY_INLINE Philox16 philox16(uint32_t base, uint32_t c1, uint32_t c2, uint32_t c3, const PhiloxKeys& keys) {
  const TagU32 d32;
  const TagU64 d64;
  Lanes64 c[4][kHalves];
  for (int i = 0; i < kParts; ++i) {
    const Lanes64 first =
        hn::BitCast(d64, hn::Add(hn::Iota(d32, static_cast<uint32_t>(i * kNative)), hn::Set(d32, base)));
    c[0][i] = first;
    c[0][kParts + i] = hn::ShiftRight<32>(first);
  }
  for (int h = 0; h < kHalves; ++h) {
    c[1][h] = hn::Set(d64, uint64_t{c1});
    c[2][h] = hn::Set(d64, uint64_t{c2});
    c[3][h] = hn::Set(d64, uint64_t{c3});
  }
  philox_rounds(c, keys);
  Philox16 result;
  for (int w = 0; w < 4; ++w) {
    for (int i = 0; i < kParts; ++i) {
      const auto odd = hn::BitCast(d32, hn::ShiftLeft<32>(c[w][kParts + i]));
      result.word[w].part[i] = hn::OddEven(odd, hn::BitCast(d32, c[w][i]));
    }
  }
  return result;
}

#endif

// The same with the key's words, the low and the high half of `key`.
HWY_INLINE Philox16 philox16(uint32_t base, uint32_t c1, uint32_t c2, uint32_t c3, uint64_t key) {
  return philox16(base, c1, c2, c3, philox_keys(key));
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
