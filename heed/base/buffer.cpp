#include "heed/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "heed/base/error.h"

namespace heed {
namespace {

constexpr size_t kAlign = 64;

// Sits in the 64 bytes before every block.
struct alignas(kAlign) Header {
  Header* next;
  int size_class;
  size_t bytes;
};

// Eight sizes in every power of two: at most a ninth of a block is wasted.
constexpr int kSteps = 8, kClasses = kSteps * 40;

int class_of(size_t bytes) {
  const size_t units = std::max<size_t>(kSteps, (bytes + kAlign - 1) / kAlign);
  const int power = std::bit_width(units) - 1;  // 2^power <= units < 2^(power+1)
  const size_t eighth = size_t{1} << (power - 3);
  const size_t step = (units - (size_t{1} << power) + eighth - 1) / eighth;  // 8: the next power
  return kSteps * power + static_cast<int>(step);
}

size_t bytes_of(int size_class) {
  const size_t eighth = size_t{1} << (size_class / kSteps - 3);
  return static_cast<size_t>(kSteps + size_class % kSteps) * eighth * kAlign;
}

// Large blocks ask for huge pages: products walk down columns, and a page of 4 KB holds only one row of them.
void* from_system(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes < 2 * kHugePage) return std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* block = std::aligned_alloc(kHugePage, rounded);
  if (block) madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

class Pool {
 public:
  void* take(size_t bytes) {
    const int size_class = class_of(bytes);
    if (size_class >= kClasses) fail("[memory] cannot allocate {} bytes", bytes);
    if (Header* header = reuse(size_class)) return header + 1;
    drop_outgrown(size_class);
    const size_t size = bytes_of(size_class);
    auto* header = static_cast<Header*>(from_system(size + sizeof(Header)));
    if (!header) fail("[memory] cannot allocate {} bytes", bytes);
    header->size_class = size_class;
    header->bytes = size;
    std::lock_guard lock(mutex_);
    ++stats_.system_allocations;
    stats_.bytes_held += static_cast<int64_t>(size);
    used(static_cast<int64_t>(size));
    return header + 1;
  }

  void give(void* block) noexcept {
    if (!block) return;
    Header* header = static_cast<Header*>(block) - 1;
    std::lock_guard lock(mutex_);
    header->next = free_[header->size_class];
    free_[header->size_class] = header;
    stats_.bytes_used -= static_cast<int64_t>(header->bytes);
  }

  PoolStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_used = stats_.bytes_used;
  }

  void release_unused() {
    std::lock_guard lock(mutex_);
    for (Header*& head : free_) {
      while (Header* header = head) {
        head = header->next;
        stats_.bytes_held -= static_cast<int64_t>(header->bytes);
        std::free(header);
      }
    }
  }

 private:
  // A block up to half as large again also serves: ragged batches differ in size from step to step.
  Header* reuse(int size_class) {
    std::lock_guard lock(mutex_);
    for (int c = size_class; c <= std::min(kClasses - 1, size_class + kSteps / 2); ++c) {
      if (Header* header = free_[c]) {
        free_[c] = header->next;
        used(static_cast<int64_t>(header->bytes));
        return header;
      }
    }
    return nullptr;
  }

  // Batches that grow ask for ever larger blocks: one that became too small makes room for the new one.
  void drop_outgrown(int size_class) {
    constexpr size_t kWorth = size_t{1} << 20;
    if (bytes_of(size_class) < kWorth) return;
    std::lock_guard lock(mutex_);
    for (int c = size_class - 1; c >= size_class - kSteps / 2; --c) {
      if (Header* header = free_[c]) {
        free_[c] = header->next;
        stats_.bytes_held -= static_cast<int64_t>(header->bytes);
        std::free(header);
        return;
      }
    }
  }

  void used(int64_t bytes) {
    stats_.bytes_used += bytes;
    stats_.peak_used = std::max(stats_.peak_used, stats_.bytes_used);
  }

  std::mutex mutex_;
  Header* free_[kClasses] = {};
  PoolStats stats_;
};

// Never destroyed: tensors with static lifetime may outlive any order of destruction.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

}  // namespace

PoolStats pool_stats() { return pool().stats(); }
void reset_peak() { pool().reset_peak(); }
void release_unused() { pool().release_unused(); }
void* pool_take(size_t bytes) { return pool().take(bytes); }
void pool_give(void* block) noexcept { pool().give(block); }

size_t bytes_for(int64_t n, size_t each) {
  constexpr int64_t kMost = int64_t{1} << 62;  // leaves room for what stands before a block
  int64_t bytes = 0;
  if (n < 0 || __builtin_mul_overflow(n, static_cast<int64_t>(each), &bytes) || bytes > kMost) {
    fail("[memory] cannot allocate {} times {} bytes", n, each);
  }
  return static_cast<size_t>(bytes);
}

struct alignas(kAlign) Buffer::Block {
  std::atomic<int> owners{1};
};

Buffer::Buffer(int64_t floats)
    : block_(new (pool_take(sizeof(Block) + bytes_for(floats, sizeof(float)))) Block) {}

Buffer::Buffer(const Buffer& other) noexcept : block_(other.block_) {
  if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_give(block_);
}

float* Buffer::data() const { return block_ ? reinterpret_cast<float*>(block_ + 1) : nullptr; }

bool Buffer::unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }

}  // namespace heed
