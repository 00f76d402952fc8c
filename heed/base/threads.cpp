#include "heed/base/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

// The OpenMP runtime is not instrumented, so ThreadSanitizer must be told where its threads meet.
#if defined(__SANITIZE_THREAD__)
#define HEED_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEED_TSAN 1
#endif
#endif
#ifdef HEED_TSAN
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define HEED_UNSANITIZED __attribute__((no_sanitize("thread"), noinline))
#else
#define HEED_UNSANITIZED
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace heed {
namespace {

int available_threads() { return std::max(1, omp_get_num_procs()); }

std::atomic<int>& wanted_threads() {
  static std::atomic<int> wanted{available_threads()};
  return wanted;
}

// Shared by the threads of one parallel_for.
struct Team {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t n, grain, chunks;
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error = nullptr;

  void work() {
    __tsan_acquire(this);
    for (;;) {
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks || failed.load(std::memory_order_relaxed)) break;
      try {
        body(chunk * grain, std::min(n, (chunk + 1) * grain));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
    __tsan_release(this);
  }
};

// Apart, because the compiler hands `team` over in a block of its own, which ThreadSanitizer must not look at.
HEED_UNSANITIZED void run(Team& team, int threads) {
#pragma omp parallel num_threads(threads)
  team.work();
}

}  // namespace

int num_threads() { return wanted_threads(); }

void set_num_threads(int n) { wanted_threads() = n > 0 ? n : available_threads(); }

int thread_index() { return omp_get_thread_num(); }

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t chunks = (n + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<int64_t>(chunks, num_threads()));
  if (threads == 1 || omp_in_parallel()) {
    for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
    return;
  }
  Team team{body, n, grain, chunks};
  __tsan_release(&team);
  run(team, threads);
  __tsan_acquire(&team);
  if (team.error) std::rethrow_exception(team.error);
}

}  // namespace heed
