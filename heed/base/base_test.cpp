#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heed/base/buffer.h"
#include "heed/base/cpus.h"
#include "heed/base/error.h"
#include "heed/base/memory.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

TEST(Philox, MatchesThePublishedKnownAnswers) {
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Philox{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Philox{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Philox{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(7);
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.01);
}

TEST(Random, StreamsDifferAndRepeat) {
  Random a(1, 0), b(1, 1), again(1, 0);
  const uint32_t first = a.next();
  EXPECT_NE(first, b.next());
  EXPECT_EQ(first, again.next());
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.below(7), 7u);
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const int64_t n : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for(n, 7, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
  set_num_threads(0);
}

TEST(ParallelFor, RethrowsWhatABodyThrows) {
  set_num_threads(2);
  EXPECT_THROW(parallel_for(100, 1,
                            [](int64_t begin, int64_t) {
                              if (begin == 50) fail("[test] at {}", begin);
                            }),
               Error);
  set_num_threads(0);
}

TEST(ParallelFor, WorksAloneInsideABodyAndBesideAnotherCaller) {
  set_num_threads(2);
  std::atomic<int64_t> sum{0};
  const auto nested = [&] {
    for (int round = 0; round < 200; ++round) {
      parallel_for(8, 1, [&](int64_t begin, int64_t) {
        EXPECT_TRUE(thread_index() >= 0 && thread_index() < 2);
        parallel_for(3, 1, [&](int64_t inner, int64_t) { sum += 3 * begin + inner; });
      });
      EXPECT_FALSE(in_parallel_for());
    }
  };
  std::thread other(nested);
  nested();
  other.join();
  EXPECT_EQ(sum, 2 * 200 * (24 * 23 / 2));
  set_num_threads(0);
}

// Threads go to sleep when nothing comes, and are there again when something does.
TEST(ParallelFor, AllThreadsComeAfterARest) {
  set_num_threads(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> here{0};
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++here;
      while (here < 2) std::this_thread::yield();  // each waits for the other
    });
    EXPECT_EQ(here, 2);
  }
  set_num_threads(0);
}

TEST(ParallelFor, IdleThreadsLeaveTheProcessorAlone) {
  set_num_threads(2);
  parallel_for(2, 1, [](int64_t, int64_t) {});
  const std::clock_t before = std::clock();  // of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.01);
  set_num_threads(0);
}

// A body that only one thread came to run has bought its memory for the others too.
TEST(Buffer, MemoryOfABodyIsThereOnEveryThread) {
  set_num_threads(2);
  const auto body = [](int64_t, int64_t) { const Scratch<float> a(123456), b(123456); };
  parallel_for(2, 1, body);
  const int64_t before = pool_stats().system_allocations;
  std::atomic<int> here{0};
  parallel_for(2, 1, [&](int64_t begin, int64_t end) {
    ++here;
    while (here < 2) std::this_thread::yield();
    body(begin, end);
  });
  EXPECT_EQ(pool_stats().system_allocations, before);
  set_num_threads(0);
}

TEST(Buffer, ReusesABlockOnceItsLastHandleIsGone) {
  const float* first;
  {
    Buffer a(1000);
    Buffer b = a;
    first = b.data();
    EXPECT_FALSE(a.unique());
  }
  const int64_t before = pool_stats().system_allocations;
  Buffer c(1000);
  EXPECT_EQ(c.data(), first);
  EXPECT_TRUE(c.unique());
  EXPECT_EQ(pool_stats().system_allocations, before);
}

// A round takes blocks of its own classes, so that it finds them again; another round may use larger ones.
TEST(Buffer, ARepeatedRoundTakesNothing) {
  release_unused();
  const auto round = [] {
    { const Scratch<float> large(9000); }
    const Scratch<float> small(7000), both(9000);
    next_round();
  };
  const auto bought = [](auto f) {
    const int64_t before = pool_stats().system_allocations;
    f();
    return pool_stats().system_allocations - before;
  };
  EXPECT_EQ(bought(round), 2);
  EXPECT_EQ(bought(round), 0);
  EXPECT_EQ(bought([] { const Scratch<float> other(6000); }), 0);
}

TEST(Buffer, HoldsAtLeastWhatWasAskedFor) {
  for (int64_t n = 0; n < 70000; n = n * 5 / 4 + 1) {
    Buffer buffer(n);
    for (int64_t i = 0; i < n; ++i) buffer.data()[i] = static_cast<float>(i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  }
  EXPECT_THROW(pool_take(size_t{1} << 50), Error);
}

#ifdef __SANITIZE_ADDRESS__
TEST(BufferDeathTest, TheSanitizerSeesWhatNobodyAskedFor) {
  const Scratch<float> s(100);
  EXPECT_EQ(__asan_address_is_poisoned(s.data() + 99), 0);
  EXPECT_DEATH(s[100] = 1, "use-after-poison");
  const float* given_back = nullptr;
  {
    const Buffer b(1000);
    b.data()[999] = 2;
    given_back = b.data() + 999;
  }
  EXPECT_DEATH(EXPECT_EQ(*given_back, 2), "use-after-poison");
}
#endif

TEST(Buffer, RefusesSizesThatCannotBeCounted) {
  for (const int64_t n :
       {int64_t{-1}, int64_t{1} << 62, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_THROW(Buffer{n}, Error) << n;
    EXPECT_THROW(Scratch<double>{n}, Error) << n;
  }
  EXPECT_EQ(bytes_for(3, 4), 12u);
  EXPECT_EQ(bytes_for(0, 4), 0u);
}

TEST(Buffer, MemoryThatIsNotThereIsOneKindOfError) {
  EXPECT_THROW(pool_take(size_t{1} << 50), MemoryError);
  EXPECT_THROW(Buffer(int64_t{1} << 62), MemoryError);
  // Between the last size and the largest that serves all bodies.
  constexpr size_t kBytes = size_t{3} << 44;
  std::string message;
  const auto body = [&](int64_t begin, int64_t) {
    if (begin > 0) return;
    try {
      pool_take(kBytes);
    } catch (const MemoryError& error) {
      message = error.what();
    }
  };
  parallel_for(2, 1, body);
  EXPECT_EQ(message, "[memory] cannot allocate " + std::to_string(kBytes) + " bytes");
}

// What a body lacks is bought for every thread: where the system gives one block and no more, that one is not lost.
TEST(Buffer, AFailureLosesNoBlock) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take address space of their own";
#endif
  constexpr int64_t kFloats = int64_t{1} << 26;  // 256 MiB
  set_num_threads(2);
  parallel_for(2, 1, [](int64_t, int64_t) { const Scratch<float> small(10); });
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  struct rlimit most = before;
  most.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + 6 * kFloats);
  const int64_t held = pool_stats().bytes_held;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &most), 0);
  EXPECT_THROW(parallel_for(2, 1, [](int64_t, int64_t) { const Scratch<float> large(kFloats); }), MemoryError);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(pool_stats().bytes_held, held);
  release_unused();
  EXPECT_LE(pool_stats().bytes_held, held);
  set_num_threads(0);
}

TEST(RandomBelow, TakesTheHighHalfFirst) {
  Random numbers(5), words(5);
  for (int i = 0; i < 20; ++i) {
    const uint64_t high = words.next(), low = words.next(), x = high << 32 | low;
    EXPECT_EQ(numbers.below(uint64_t{1} << 63), x % (uint64_t{1} << 63));
  }
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> verbs = {"show", "doctor", "bench"};
  EXPECT_EQ(nearest("shwo", verbs), "show");
  EXPECT_EQ(nearest("docter", verbs), "doctor");
  EXPECT_EQ(nearest("zzzzzz", verbs), "");
  EXPECT_EQ(nearest("--logits", {"--out", "--json"}), "");
  EXPECT_EQ(nearest("--lenght", {"--out", "--length"}), "--length");
  EXPECT_EQ(nearest("--otu", {"--out", "--json"}), "--out");
  EXPECT_EQ(nearest("", verbs), "");
  EXPECT_EQ(nearest_is("shwo", verbs), "; nearest is 'show'");
  EXPECT_EQ(nearest_is("zzzzzz", verbs), "");
}

// A folder of control groups as Linux lays them out.
class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* group : {"a/b", "memory/a/b", "cpu/a/b"}) fs::create_directories(root_ / group);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& file, const std::string& content) const { std::ofstream(root_ / file) << content; }
  int64_t left(const std::string& groups) const { return memory_in_groups(groups, root_.string()); }

  const fs::path root_ = fs::temp_directory_path() / ("heed-groups-" + std::to_string(::getpid()));
};

TEST_F(ControlGroups, TheTightestOfAllAboveCountsInMemory) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  const std::string two = "0::/a/b\n", one = "5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/\n";
  EXPECT_EQ(left(two), kNone);
  EXPECT_EQ(left(""), kNone);
  EXPECT_EQ(left("nonsense\n"), kNone);
  put("a/b/memory.max", "max\n"), put("a/b/memory.current", "700\n");
  EXPECT_EQ(left(two), kNone);
  put("a/memory.max", "1000\n"), put("a/memory.current", "900\n");
  EXPECT_EQ(left(two), 100);
  // Pages of files are given up when they are needed.
  put("a/memory.stat", "anon 300\ninactive_file 350\nactive_file 200\n");
  EXPECT_EQ(left(two), 650);
  put("a/b/memory.max", "500\n");
  EXPECT_EQ(left(two), 0);
  EXPECT_EQ(left(one), kNone);
  put("memory/memory.limit_in_bytes", "3000\n"), put("memory/memory.usage_in_bytes", "2500\n");
  put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"), put("memory/a/b/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(left(one), 500);
  put("memory/memory.stat", "inactive_file 7\ntotal_inactive_file 400\n");
  EXPECT_EQ(left(one), 900);
  EXPECT_GT(physical_memory(), 0);
  EXPECT_LE(available_memory(), physical_memory());
}

TEST_F(ControlGroups, TheTightestOfAllAboveCountsInTime) {
  constexpr int kNone = std::numeric_limits<int>::max();
  const auto granted = [&](const std::string& groups) { return cpus_in_groups(groups, root_.string()); };
  const std::string two = "0::/a/b\n", one = "5:cpu,cpuacct:/a/b\n4:memory:/a/b\n3:cpuset:/\n";
  EXPECT_EQ(granted(two), kNone);
  EXPECT_EQ(granted(""), kNone);
  put("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(granted(two), kNone);
  put("cpu.max", "800000 100000\n"), put("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(granted(two), 3);
  put("a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(granted(two), 1);
  EXPECT_EQ(granted(one), kNone);
  put("cpu/cpu.cfs_quota_us", "-1\n"), put("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(granted(one), kNone);
  put("cpu/a/b/cpu.cfs_quota_us", "350000\n"), put("cpu/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(granted(one), 4);
  put("cpu/a/cpu.cfs_quota_us", "50000\n"), put("cpu/a/cpu.cfs_period_us", "25000\n");
  EXPECT_EQ(granted(one), 2);
  EXPECT_GE(available_cpus(), 1);
}

}  // namespace
}  // namespace heed
