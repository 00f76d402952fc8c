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
struct U16 {
  hn::Vec<TagU32> part[kParts];
};
struct Philox16 {
  U16 word[4];
};

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE Philox16 philox16(uint32_t base, uint32_t c1, uint32_t c2, uint32_t c3, uint64_t key) {
  Philox16 result;
  for (uint32_t i = 0; i < kWidth; ++i) {
    const Philox one =
        philox({base + i, c1, c2, c3}, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    for (uint32_t w = 0; w < 4; ++w) result.word[w].part[i] = hn::Set(TagU32(), one[w]);
  }
  return result;
}

#else

using TagU64 = hn::Repartition<uint64_t, TagU32>;

// Ten rounds on counters that sit in the low halves of 64-bit lanes. The multiplication reads nothing else,
// so what the rounds leave in the high halves does no harm.
HWY_INLINE void philox_rounds(hn::Vec<TagU64>* c, uint64_t key) {
  const TagU32 d32;
  const TagU64 d64;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const auto m0 = hn::Set(d32, 0xD2511F53u), m1 = hn::Set(d32, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const auto p0 = hn::MulEven(m0, hn::BitCast(d32, c[0])), p1 = hn::MulEven(m1, hn::BitCast(d32, c[2]));
    c[0] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c[1]), hn::Set(d64, uint64_t{k0}));
    c[2] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c[3]), hn::Set(d64, uint64_t{k1}));
    c[1] = p1;
    c[3] = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

// Counters {base + i, c1, c2, c3} for i in [0, 16); key words are the low and the high half of `key`.
HWY_INLINE Philox16 philox16(uint32_t base, uint32_t c1, uint32_t c2, uint32_t c3, uint64_t key) {
  const TagU32 d32;
  const TagU64 d64;
  Philox16 result;
  for (int i = 0; i < kParts; ++i) {
    const auto first = hn::BitCast(d64, hn::Iota(d32, base + static_cast<uint32_t>(i * kNative)));
    const auto rest1 = hn::Set(d64, uint64_t{c1}), rest2 = hn::Set(d64, uint64_t{c2}), rest3 = hn::Set(d64, uint64_t{c3});
    hn::Vec<TagU64> even[4] = {first, rest1, rest2, rest3};
    hn::Vec<TagU64> odd[4] = {hn::ShiftRight<32>(first), rest1, rest2, rest3};
    philox_rounds(even, key);
    philox_rounds(odd, key);
    for (int w = 0; w < 4; ++w) {
      result.word[w].part[i] =
          hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(odd[w])), hn::BitCast(d32, even[w]));
    }
  }
  return result;
}

#endif

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
