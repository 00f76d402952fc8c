// Every block of memory that this test program takes from the system is counted, whoever takes it: malloc and its
// relatives, `new` (which calls malloc) and mmap. Apart from the tests, so that the compiler sees no more than a call.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEED_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEED_SANITIZED 1
#endif
#endif

namespace {
std::atomic<int64_t> taken{0};
void count() { taken.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

namespace heed::train {
int64_t blocks_taken_so_far();
int64_t blocks_taken_so_far() { return taken; }
}  // namespace heed::train

#ifdef HEED_SANITIZED

// The sanitizers have a malloc of their own, which calls this.
extern "C" void __sanitizer_malloc_hook(const volatile void*, size_t) {
  count();
}  // NOLINT(bugprone-reserved-identifier)

#else

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// What stands behind the C library's names.
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t n, size_t bytes);            // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* block, size_t bytes);        // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
void* realloc(void* block, size_t bytes) {
  count();
  return __libc_realloc(block, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  count();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}

#endif
