#include "heed/decode/prefixes.h"

#include <gtest/gtest.h>

#include <map>

#include "heed/base/random.h"

namespace heed::decode {
namespace {

TEST(Prefixes, TheLongestStartIsFoundAndRowsAreNeverLost) {
  nn::CachePool pool(1, 4);
  Random random(2);
  {
    constexpr int64_t kMost = 60;
    Prefixes known(pool, kMost);
    std::map<Rows, Rows> rows_of;  // of every start that was kept, the rows at the time
    for (int round = 0; round < 2000; ++round) {
      Rows tokens(1 + random.below(25));
      for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(2));
      const std::span<const int32_t> found = known.find(tokens);
      ASSERT_LE(found.size(), tokens.size());
      if (!found.empty()) {
        const Rows start(tokens.begin(), tokens.begin() + static_cast<int64_t>(found.size()));
        EXPECT_EQ(rows_of.at(start), Rows(found.begin(), found.end()));
      }
      // As a sequence does: it holds what it found, and computes the rest.
      Rows rows(found.begin(), found.end());
      pool.share(rows);
      append(rows, pool.take(static_cast<int64_t>(tokens.size() - rows.size())));
      for (size_t n = 1; n <= tokens.size(); ++n) {
        rows_of[Rows(tokens.begin(), tokens.begin() + static_cast<int64_t>(n))] =
            Rows(rows.begin(), rows.begin() + static_cast<int64_t>(n));
      }
      known.keep(tokens, rows);
      EXPECT_LE(known.rows(), kMost);
      EXPECT_LE(pool.used(), known.rows());  // shared rows count once
      EXPECT_EQ(known.find(tokens).size(), tokens.size());
    }
  }
  EXPECT_LE(pool.capacity(), 256);
}

TEST(Prefixes, OfWhatIsLongerThanAllTheStartIsKept) {
  nn::CachePool pool(1, 4);
  Prefixes known(pool, 3);
  known.keep(Rows{1, 2}, pool.take(2));
  known.keep(Rows{1, 2, 3, 4}, pool.take(4));
  EXPECT_EQ(pool.used(), 3);
  EXPECT_EQ(known.rows(), 3);
  EXPECT_EQ(known.find(Rows{1, 2, 3, 4}).size(), 3u);
  Prefixes nothing(pool, 0);
  nothing.keep(Rows{1, 2}, pool.take(2));
  EXPECT_EQ(pool.used(), 3);
  known.keep(Rows{5, 6}, pool.take(2));  // the older one has to go
  EXPECT_EQ(pool.used(), 2);
  EXPECT_TRUE(known.find(Rows{1, 2}).empty());
  EXPECT_EQ(known.find(Rows{5, 7}).size(), 1u);
}

}  // namespace
}  // namespace heed::decode
