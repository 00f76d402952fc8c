#include "heed/kernels/rotary.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

constexpr int64_t kPositions = 50;

struct Case {
  int64_t T, heads, D, turned;
  bool interleaved;
  Floats cos, sin;
  std::vector<uint32_t> position;
  Case(int64_t rows, int64_t h, int64_t d, int64_t first, bool neighbours)
      : T(rows),
        heads(h),
        D(d),
        turned(first),
        interleaved(neighbours),
        cos(static_cast<size_t>(kPositions * turned / 2)),
        sin(cos) {
    rotary_tables(cos.data(), sin.data(), kPositions, rotary_frequencies(turned, 10000));
    for (int64_t t = 0; t < T; ++t) position.push_back(static_cast<uint32_t>(t * 13 % kPositions));
  }
  int64_t width() const { return heads * D; }
  Rotary rotary(bool inverse = false) const {
    return {T, heads, D, turned, cos.data(), sin.data(), position.data(), interleaved, inverse};
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool neighbours : {false, true}) {
    all.emplace_back(0, 2, 8, 8, neighbours);
    all.emplace_back(1, 1, 2, 2, neighbours);
    all.emplace_back(5, 3, 40, 40, neighbours);
    all.emplace_back(4, 2, 64, 64, neighbours);
    all.emplace_back(7, 4, 32, 16, neighbours);
    all.emplace_back(6, 2, 50, 34, neighbours);
    all.emplace_back(3, 2, 6, 0, neighbours);
    all.emplace_back(300, 2, 66, 66, neighbours);
  }
  return all;
}

TEST(Rotary, TablesAreTheirFormula) {
  Floats cos(20), sin(20);
  rotary_tables(cos.data(), sin.data(), 10, rotary_frequencies(4, 10000));
  for (int p = 0; p < 10; ++p) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(cos[static_cast<size_t>(p * 2 + i)], std::cos(p / (i ? 100.0 : 1.0)), 1e-7);
      EXPECT_NEAR(sin[static_cast<size_t>(p * 2 + i)], std::sin(p / (i ? 100.0 : 1.0)), 1e-7);
    }
  }
}

TEST(Rotary, AgreesWithItsReference) {
  on_every_target([] {
    for (const Case& c : cases()) {
      const int64_t ldx = c.width() + 3, ldy = c.width() + 1;
      const Floats x = random_floats(c.T * ldx, 1), before = random_floats(c.T * ldy, 2);
      for (const bool inverse : {false, true}) {
        for (const bool accumulate : {false, true}) {
          Guarded y(before), expected(before);
          rotary(y.data(), ldy, x.data(), ldx, c.rotary(inverse), accumulate);
          rotary_reference(expected.data(), ldy, x.data(), ldx, c.rotary(inverse), accumulate);
          expect_close(y.values(), expected.values(), 1e-6);
        }
      }
    }
  });
}

TEST(Rotary, TurnsBackInPlace) {
  for (const Case& c : cases()) {
    const Floats x = random_floats(c.T * c.width(), 3);
    Guarded y(x);
    rotary(y.data(), c.width(), y.data(), c.width(), c.rotary(), false);
    if (c.T > 1 && c.turned > 0) {
      EXPECT_NE(y.values(), x);
    }
    rotary(y.data(), c.width(), y.data(), c.width(), c.rotary(true), false);
    expect_close(y.values(), x, 1e-6);
  }
}

TEST(Rotary, InverseIsTheBackward) {
  const Case c(4, 2, 12, 8, false);
  const Floats x = random_floats(c.T * c.width(), 4), dy = random_floats(c.T * c.width(), 5);
  const Floats expected = finite_differences(x, dy, [&](const Floats& at) {
    Floats y(at.size());
    rotary_reference(y.data(), c.width(), at.data(), c.width(), c.rotary(), false);
    return y;
  });
  Guarded dx(c.T * c.width());
  rotary(dx.data(), c.width(), dy.data(), c.width(), c.rotary(true), false);
  expect_close(dx.values(), expected, 1e-4);
}

TEST(Rotary, SameBitsEverywhere) {
  for (const bool neighbours : {false, true}) {
    const Case c(500, 4, 50, 46, neighbours);
    const Floats x = random_floats(c.T * c.width(), 6);
    expect_same_everywhere([&] {
      Floats y = x;
      rotary(y.data(), c.width(), x.data(), c.width(), c.rotary(), true);
      return y;
    });
  }
}

}  // namespace
}  // namespace heed::kernels
