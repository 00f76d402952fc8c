#include "heed/base/random.h"

#include <cmath>

namespace heed {

uint32_t Random::next() {
  if (left_ == 0) {
    block_ = philox({static_cast<uint32_t>(index_), static_cast<uint32_t>(index_ >> 32), static_cast<uint32_t>(stream_),
                     static_cast<uint32_t>(stream_ >> 32)},
                    {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    ++index_;
    left_ = 4;
  }
  return block_[4 - left_--];
}

uint64_t Random::below(uint64_t n) {
  // Values under 2^64 mod n are rejected: no modulo bias.
  const uint64_t reject_under = (0 - n) % n;
  for (;;) {
    const uint64_t high = next();  // before the low half: the order is part of what a seed means
    const uint64_t x = high << 32 | next();
    if (x >= reject_under) return x % n;
  }
}

float Random::uniform() { return static_cast<float>(next() >> 8) * 0x1p-24f; }

float Random::normal() {
  // Box-Muller in double, so that the tails do not depend on float rounding of log.
  const double u = (next() + 0.5) * 0x1p-32, v = next() * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

}  // namespace heed
