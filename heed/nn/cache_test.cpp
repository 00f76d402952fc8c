#include "heed/nn/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "heed/base/random.h"

namespace heed::nn {
namespace {

using Rows = std::vector<int32_t>;

// Sixteen sequences that grow a token a step: from their second run on nothing stands between a sequence's rows.
TEST(CachePool, SequencesOfABatchLieInRuns) {
  CachePool pool(1, 4);
  std::vector<Rows> sequences(16);
  for (int step = 0; step < 64; ++step) {
    for (Rows& rows : sequences) rows.push_back(pool.take(1, rows.empty() ? -1 : rows.back()).front());
  }
  std::set<int32_t> all;
  for (const Rows& rows : sequences) {
    all.insert(rows.begin(), rows.end());
    for (size_t i = 1; i < rows.size(); ++i) EXPECT_TRUE(i % 16 == 0 || rows[i] == rows[i - 1] + 1);
  }
  EXPECT_EQ(all.size(), 16u * 64u);
  EXPECT_EQ(pool.used(), 16 * 64);
  EXPECT_EQ(pool.capacity(), 16 * 64);
}

TEST(CachePool, APromptLiesInOnePiece) {
  CachePool pool(1, 4);
  const Rows rows = pool.take(100);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<int32_t>(i));
  EXPECT_EQ(pool.take(2, 99), (Rows{100, 101}));
}

// Hypotheses branch and end at random: nobody gets a row that another holds, nor the pool much more than is held.
TEST(CachePool, RowsAreHeldByThoseWhoTookThem) {
  CachePool pool(1, 4);
  Random random(1);
  std::vector<Rows> living(24);
  int64_t most = 0;
  for (int step = 0; step < 3000; ++step) {
    Rows& rows = living[random.below(living.size())];
    if (random.below(40) == 0) {
      pool.give(rows);
      rows.clear();
    } else if (random.below(3) == 0) {
      const Rows& parent = living[random.below(living.size())];
      pool.share(parent);
      const Rows before = std::exchange(rows, Rows(parent));
      pool.give(before);
    }
    std::set<int32_t> held;
    for (const Rows& one : living) held.insert(one.begin(), one.end());
    const int32_t fresh = pool.take(1, rows.empty() ? -1 : rows.back()).front();
    EXPECT_FALSE(held.contains(fresh));
    rows.push_back(fresh);
    held.insert(fresh);
    ASSERT_EQ(pool.used(), static_cast<int64_t>(held.size()));
    most = std::max(most, pool.used());
  }
  EXPECT_LE(pool.capacity(), std::max<int64_t>(1024, 4 * most));
  for (const Rows& rows : living) pool.give(rows);
  EXPECT_EQ(pool.used(), 0);
}

}  // namespace
}  // namespace heed::nn
