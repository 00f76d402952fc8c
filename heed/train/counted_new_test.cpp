// Every `new` of this test program is counted. Apart from the tests, so that the compiler sees no more than a call.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<int64_t> news{0};
}

namespace heed::train {
int64_t news_so_far();
int64_t news_so_far() { return news; }
}  // namespace heed::train

void* operator new(size_t bytes) {
  news.fetch_add(1, std::memory_order_relaxed);
  if (void* block = std::malloc(bytes ? bytes : 1)) return block;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  news.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
