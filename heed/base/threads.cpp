#include "heed/base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "heed/base/cpus.h"

namespace heed {
namespace {

std::atomic<int>& wanted_threads() {
  static std::atomic<int> wanted{available_cpus()};
  return wanted;
}

// Where the calling thread is: in a body or not, and in which seat.
thread_local bool inside = false;
thread_local int seat = 0;

// Shared by the threads of one parallel_for.
struct Team {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n, grain, chunks;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;

  void work() {
    for (;;) {
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks || failed.load(std::memory_order_relaxed)) break;
      try {
        body(chunk * grain, std::min(n, (chunk + 1) * grain));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }
};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `old`: for a moment awake, since the next work is mostly a few microseconds away,
// then asleep, so that waiting threads leave the CPU to others.
uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old, bool awake) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAwake = std::chrono::microseconds(100);
  uint32_t found = value.load(std::memory_order_acquire);
  if (awake && found == old) {
    const Clock::time_point until = Clock::now() + kAwake;
    do {
      for (int i = 0; i < 32 && found == old; ++i) {
        pause();
        found = value.load(std::memory_order_acquire);
      }
    } while (found == old && Clock::now() < until);
  }
  while (found == old) {
    value.wait(old, std::memory_order_acquire);
    found = value.load(std::memory_order_acquire);
  }
  return found;
}

// Threads that wait for teams. Who wakes up late finds the gate closed: a team waits only for those who came in, so
// a busy machine delays nobody who has work.
class Crew {
 public:
  // False: another thread's team is at work.
  bool run(Team& team, int threads) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    start(threads - 1);
    team_ = &team;
    crowded_.store(threads > available_, std::memory_order_relaxed);
    gate_.store(static_cast<uint32_t>(threads - 1), std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    inside = true;
    team.work();
    inside = false;
    uint32_t gate = gate_.fetch_and(~kSeats, std::memory_order_acq_rel) & ~kSeats;
    while (gate != 0) gate = wait_for_change(gate_, gate, !crowded_.load(std::memory_order_relaxed));
    return true;
  }

 private:
  // The gate: free seats in the lower half, threads inside in the upper.
  static constexpr uint32_t kSeats = 0xFFFF, kInside = 0x10000;

  // Where the system grants fewer, those that there are do all the work.
  void start(int threads) {
    try {
      for (; started_ < threads; ++started_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void serve() {
    inside = true;
    for (uint32_t round = 0;;) {
      round = wait_for_change(round_, round, !crowded_.load(std::memory_order_relaxed));
      uint32_t gate = gate_.load(std::memory_order_relaxed);
      while ((gate & kSeats) != 0) {
        if (!gate_.compare_exchange_weak(gate, gate - 1 + kInside, std::memory_order_acq_rel)) continue;
        seat = static_cast<int>(gate & kSeats);
        team_->work();
        if (gate_.fetch_sub(kInside, std::memory_order_acq_rel) < 2 * kInside) gate_.notify_all();
        break;
      }
    }
  }

  std::mutex busy_;
  const int available_ = available_cpus();
  int started_ = 0;
  Team* team_ = nullptr;
  std::atomic<bool> crowded_{false};  // more threads than CPUs: staying awake would take one from the others
  alignas(64) std::atomic<uint32_t> gate_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

// Never destroyed: its threads wait until the process ends.
Crew& crew() {
  static Crew* instance = new Crew;
  return *instance;
}

}  // namespace

int num_threads() { return wanted_threads(); }

void set_num_threads(int n) { wanted_threads() = n > 0 ? std::min(n, kMostThreads) : available_cpus(); }

int thread_index() { return seat; }

bool in_parallel_for() { return inside; }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t chunks = (n + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<int64_t>(chunks, num_threads()));
  if (threads > 1 && !inside) {
    Team team{body, n, grain, chunks};
    if (crew().run(team, threads)) {
      if (team.error) std::rethrow_exception(team.error);
      return;
    }
  }
  for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
}

}  // namespace heed
