// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): a number is a pure function of
// (key, counter), so any thread, batch or process that asks for the same one gets the same one.
#pragma once

#include <array>
#include <cstdint>

namespace heed {

using Philox = std::array<uint32_t, 4>;

// Ten rounds over the counter; the constants are the published ones.
constexpr Philox philox(Philox c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return c;
}

// A stream of numbers for initialisation, shuffles and tests: counter = (index, stream), key = seed.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}
  uint32_t next();
  uint64_t below(uint64_t n);  // uniform in [0, n), n > 0
  float uniform();             // [0, 1) with 24 bits
  float normal();              // mean 0, variance 1

 private:
  uint64_t seed_, stream_, index_ = 0;
  Philox block_{};
  int left_ = 0;
};

}  // namespace heed
