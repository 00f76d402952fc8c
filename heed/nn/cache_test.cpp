#include "heed/nn/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "heed/base/error.h"
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
  EXPECT_THROW(pool.take(1, 105), Error);
  // Also where one lay before.
  CachePool used(1, 4);
  used.give(used.take(100));
  EXPECT_EQ(used.take(100), rows);
  EXPECT_EQ(used.capacity(), 112);
}

// What is refused takes nothing.
TEST(CachePool, TooManyRowsAreRefusedAsAWhole) {
  CachePool pool(1, 1);
  const Rows some = pool.take(5);
  EXPECT_THROW(pool.take(int64_t{1} << 31), Error);
  EXPECT_EQ(pool.used(), 5);
  EXPECT_EQ(pool.take(1, some.back()), Rows{5});
}

// Hypotheses branch and end at random: nobody gets a row that another holds, nor the pool much more than is held.
TEST(CachePool, RowsAreHeldByThoseWhoTookThem) {
  CachePool pool(1, 4);
  Random random(1);
  std::vector<Rows> living(300);
  int64_t most = 0, scattered = 0;
  for (int step = 0; step < 12000; ++step) {
    Rows& rows = living[random.below(living.size())];
    // Many end at once now and then: what is left lies in runs that others left.
    if (random.below(step / 3000 % 2 == 0 ? 60 : 4) == 0) {
      pool.give(rows);
      rows.clear();
    } else if (random.below(3) == 0) {
      const Rows& parent = living[random.below(living.size())];
      pool.share(parent);
      const Rows before = std::exchange(rows, Rows(parent));
      pool.give(before);
    }
    const int32_t before = rows.empty() ? -1 : rows.back(), fresh = pool.take(1, before).front();
    scattered += fresh % 16 != 0 && fresh != before + 1;
    for (const Rows& one : living) ASSERT_EQ(std::count(one.begin(), one.end(), fresh), 0);
    rows.push_back(fresh);
    most = std::max(most, pool.used());
    if (step % 100 != 0) continue;
    std::set<int32_t> held;
    for (const Rows& one : living) held.insert(one.begin(), one.end());
    ASSERT_EQ(pool.used(), static_cast<int64_t>(held.size()));
  }
  EXPECT_GT(most, 1024);
  EXPECT_GT(scattered, 0);
  EXPECT_LE(pool.capacity(), 4 * most);
  for (const Rows& rows : living) pool.give(rows);
  EXPECT_EQ(pool.used(), 0);
}

}  // namespace
}  // namespace heed::nn
