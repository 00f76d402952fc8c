#include "heed/kernels/dropout.h"

#include <set>

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

using Bits = std::vector<uint64_t>;

struct Ids {
  std::vector<uint32_t> sequence, position;
  explicit Ids(int64_t T) {
    for (int64_t t = 0; t < T; ++t) {
      sequence.push_back(static_cast<uint32_t>(t / 7 + 3));
      position.push_back(static_cast<uint32_t>(t % 7));
    }
  }
  RowIds rows() const { return {sequence.data(), position.data()}; }
};

Bits mask(decltype(dropout_mask) f, const Ids& ids, int64_t T, int64_t C, const Dropout& dropout) {
  Bits keep(static_cast<size_t>(T * mask_words(C) + 1), 0xABCD);
  f(keep.data(), ids.rows(), T, C, dropout);
  EXPECT_EQ(keep.back(), 0xABCDu) << "written past the end";
  keep.pop_back();
  return keep;
}

TEST(Dropout, MasksAgreeWithTheReference) {
  on_every_target([] {
    for (const int64_t C : {0, 1, 15, 16, 17, 63, 64, 65, 100, 127, 128, 129, 300, 512}) {
      for (const float p : {0.0f, 1e-5f, 0.1f, 0.5f, 0.999f, 1.0f}) {
        const int64_t T = 20;
        const Dropout dropout{p, dropout_key(1, 2, 3)};
        EXPECT_EQ(mask(dropout_mask, Ids(T), T, C, dropout), mask(dropout_mask_reference, Ids(T), T, C, dropout));
      }
    }
  });
}

TEST(Dropout, NothingFallsAtZeroAndEverythingAtOne) {
  const Ids ids(3);
  for (const uint64_t word : mask(dropout_mask, ids, 3, 128, {0, 5})) EXPECT_EQ(word, ~uint64_t{0});
  for (const uint64_t word : mask(dropout_mask, ids, 3, 128, {1, 5})) EXPECT_EQ(word, 0u);
}

TEST(Dropout, DropsTheShareAskedFor) {
  const int64_t T = 400, C = 500;
  for (const float p : {0.1f, 0.3f}) {
    int64_t stay = 0;
    for (const uint64_t word : mask(dropout_mask, Ids(T), T, C, {p, dropout_key(9, 1, 1)})) stay += std::popcount(word);
    EXPECT_NEAR(static_cast<double>(stay) / (T * C), 1 - p, 0.004);
  }
}

TEST(Dropout, ARowDependsOnItsIdsAlone) {
  const int64_t C = 200;
  const Dropout dropout{0.5f, dropout_key(1, 1, 1)};
  const Ids ids(30);
  const Bits all = mask(dropout_mask, ids, 30, C, dropout);
  Ids one(1);
  one.sequence = {ids.sequence[17]};
  one.position = {ids.position[17]};
  EXPECT_EQ(mask(dropout_mask, one, 1, C, dropout),
            Bits(all.begin() + 17 * mask_words(C), all.begin() + 18 * mask_words(C)));
  std::set<Bits> different;
  for (int64_t t = 0; t < 30; ++t)
    different.insert(Bits(all.begin() + t * mask_words(C), all.begin() + (t + 1) * mask_words(C)));
  EXPECT_EQ(different.size(), 30u);
}

TEST(Dropout, KeysDiffer) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t step = 0; step < 8; ++step) {
      for (uint64_t layer = 0; layer < 8; ++layer) keys.insert(dropout_key(seed, step, layer));
    }
  }
  EXPECT_EQ(keys.size(), 512u);
}

TEST(Dropout, ApplyAndResidualAgreeWithTheReference) {
  on_every_target([] {
    for (const auto& [T, C] :
         {std::pair<int64_t, int64_t>{0, 8}, {3, 0}, {1, 1}, {5, 63}, {9, 64}, {40, 129}, {300, 70}}) {
      const Ids ids(T);
      const Floats x = random_floats(T * C, 1), f = random_floats(T * C, 2);
      for (const float p : {0.0f, 0.1f, 1.0f}) {
        const Dropout dropout{p, dropout_key(4, 5, 6)};
        Bits keep(static_cast<size_t>(T * mask_words(C))), expected_keep = keep;
        Guarded y(T * C), expected(T * C);
        residual_dropout(y.data(), keep.data(), x.data(), f.data(), ids.rows(), T, C, dropout);
        residual_dropout_reference(expected.data(), expected_keep.data(), x.data(), f.data(), ids.rows(), T, C,
                                   dropout);
        EXPECT_EQ(keep, expected_keep);
        expect_same_bits(y.values(), expected.values());
        for (const bool accumulate : {false, true}) {
          Guarded z(x), expected_z(x);
          apply_mask(z.data(), f.data(), keep.data(), T, C, p, accumulate);
          apply_mask_reference(expected_z.data(), f.data(), keep.data(), T, C, p, accumulate);
          expect_same_bits(z.values(), expected_z.values());
        }
      }
    }
  });
}

TEST(Dropout, TilesAgreeWithTheWhole) {
  const int64_t T = 12, C = 200;
  const Bits keep = mask(dropout_mask, Ids(T), T, C, {0.4f, 11});
  const Floats x = random_floats(T * C, 3);
  on_every_target([&] {
    Guarded whole(x), tiled(x);
    apply_mask_reference(whole.data(), x.data(), keep.data(), T, C, 0.4f, false);
    for (const auto& [column, columns] : {std::pair<int64_t, int64_t>{0, 48}, {48, 112}, {160, 40}}) {
      for (int64_t row = 0; row < T; row += 5) {
        const int64_t rows = std::min<int64_t>(5, T - row);
        apply_mask_tile({tiled.data() + row * C + column, C, keep.data(), C, row, column, rows, columns, 0.4f});
      }
    }
    expect_same_bits(tiled.values(), whole.values());
  });
}

TEST(Dropout, SameBitsEverywhere) {
  const int64_t T = 400, C = 321;
  const Ids ids(T);
  const Floats x = random_floats(T * C, 1), f = random_floats(T * C, 2);
  expect_same_everywhere([&] {
    Bits keep(static_cast<size_t>(T * mask_words(C)));
    Floats y(x.size()), z = x;
    residual_dropout(y.data(), keep.data(), x.data(), f.data(), ids.rows(), T, C, {0.1f, 77});
    apply_mask(z.data(), f.data(), keep.data(), T, C, 0.1f, true);
    y.insert(y.end(), z.begin(), z.end());
    return y;
  });
}

}  // namespace
}  // namespace heed::kernels
