#include "heed/kernels/top_k.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace heed::kernels {
namespace {

struct Result {
  std::vector<int32_t> ids;
  std::vector<float> log_probs;
};

Result run(const std::vector<float>& x, int64_t T, int64_t k, void (*kernel)(const TopK&)) {
  const int64_t C = T > 0 ? static_cast<int64_t>(x.size()) / T : 0;
  Result r{std::vector<int32_t>(static_cast<size_t>(T * k)), std::vector<float>(static_cast<size_t>(T * k))};
  kernel({T, C, k, x.data(), r.ids.data(), r.log_probs.data()});
  return r;
}

TEST(TopK, EqualsTheReference) {
  Random random(1);
  for (const int64_t C : {1, 2, 15, 16, 63, 64, 65, 200, 1000}) {
    for (const int64_t k : {1, 2, 5, 70}) {
      std::vector<float> x(static_cast<size_t>(3 * C));
      // Few distinct numbers: many equals.
      for (float& value : x) value = static_cast<float>(random.below(20)) - 10;
      const Result fast = run(x, 3, k, top_k), slow = run(x, 3, k, top_k_reference);
      EXPECT_EQ(fast.ids, slow.ids) << C << " " << k;
      for (size_t i = 0; i < fast.ids.size(); ++i) {
        if (fast.ids[i] >= 0) {
          EXPECT_NEAR(fast.log_probs[i], slow.log_probs[i], 2e-6f * (1 + std::abs(slow.log_probs[i])));
        }
      }
    }
  }
}

TEST(TopK, MaskedAndBrokenNumbersAreNotChosen) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Result r = run({-kInfinity, 1, std::nanf(""), -kInfinity}, 1, 3, top_k);
  EXPECT_EQ(r.ids, (std::vector<int32_t>{1, -1, -1}));
  EXPECT_EQ(r.log_probs[1], -kInfinity);
  EXPECT_EQ(run({-kInfinity, -kInfinity}, 1, 1, top_k).ids, (std::vector<int32_t>{-1}));
}

TEST(TopK, SameBitsAtAnyNumberOfThreads) {
  Random random(2);
  std::vector<float> x(64 * 1000);
  for (float& value : x) value = random.normal();
  const int before = num_threads();
  set_num_threads(1);
  const Result one = run(x, 64, 8, top_k);
  set_num_threads(3);
  const Result three = run(x, 64, 8, top_k);
  set_num_threads(before);
  EXPECT_EQ(one.ids, three.ids);
  EXPECT_EQ(one.log_probs, three.log_probs);
}

}  // namespace
}  // namespace heed::kernels
