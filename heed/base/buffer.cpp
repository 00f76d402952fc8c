#include "heed/base/buffer.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "heed/base/error.h"
#include "heed/base/threads.h"

namespace heed {
namespace {

constexpr size_t kAlign = 64;

// Sits in the 64 bytes before every block.
struct alignas(kAlign) Header {
  Header* next;
  int shelf, size_class;
  uint32_t round;  // when it was last taken
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

// Large blocks ask for huge pages: products walk down columns, and a page of 4 KB holds only one row of them. A rest that
// does not fill one stays in small pages: it would cost a third of a block of 4 MB.
void* from_system(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes < 2 * kHugePage) return std::aligned_alloc(kAlign, rounded);
  void* block = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
  if (block) madvise(block, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
  return block;
}

// The free blocks, by class.
struct Shelf {
  Header* free[kClasses] = {};

  void put(Header* header) {
    header->next = free[header->size_class];
    free[header->size_class] = header;
  }

  Header* get(int size_class) {
    Header* header = free[size_class];
    if (header) free[size_class] = header->next;
    return header;
  }

  // One that was not taken in this round.
  Header* get_idle(int size_class, uint32_t round) {
    for (Header** at = &free[size_class]; *at; at = &(*at)->next) {
      if ((*at)->round != round) return std::exchange(*at, (*at)->next);
    }
    return nullptr;
  }
};

// Under AddressSanitizer what nobody took is poisoned: free blocks, and of taken ones what was not asked for.
//
// Bodies of a parallel_for have a shelf a thread, and what one of them lacks is bought for all: which thread runs which
// body is left to chance, what a step takes from the system is not. All other code shares the first shelf.
class Pool {
 public:
  void* take(size_t bytes) {
    int size_class = class_of(bytes);
    const int own = in_parallel_for() ? 1 + thread_index() : 0;
    if (own > 0) size_class = (size_class + kSteps - 1) / kSteps * kSteps;  // few sizes serve all bodies
    if (size_class >= kClasses) fail_memory("[memory] cannot allocate {} bytes", bytes);
    std::lock_guard lock(mutex_);
    Header* header = reuse(own, size_class);
    if (!header) {
      if (own == 0) drop_outgrown(size_class);
      for (int other = 1; own > 0 && other <= num_threads(); ++other) {
        if (other != own) shelf(other).put(buy(other, size_class));
      }
      header = buy(own, size_class);  // last: what was bought before a failure lies on its shelf
    }
    header->round = round_;
    stats_.bytes_used += static_cast<int64_t>(header->bytes);
    stats_.peak_used = std::max(stats_.peak_used, stats_.bytes_used);
    ASAN_UNPOISON_MEMORY_REGION(header + 1, bytes);
    return header + 1;
  }

  void give(void* block) noexcept {
    if (!block) return;
    Header* header = static_cast<Header*>(block) - 1;
    std::lock_guard lock(mutex_);
    ASAN_POISON_MEMORY_REGION(block, header->bytes);
    shelves_[static_cast<size_t>(header->shelf)].put(header);
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

  void next_round() {
    std::lock_guard lock(mutex_);
    ++round_;
    settled_ = stats_.system_allocations == bought_before_;
    bought_before_ = stats_.system_allocations;
  }

  void release_unused() {
    std::lock_guard lock(mutex_);
    for (Shelf& shelf : shelves_) {
      for (int c = 0; c < kClasses; ++c) {
        while (Header* header = shelf.get(c)) sell(header);
      }
    }
  }

 private:
  Shelf& shelf(int index) {
    while (static_cast<int>(shelves_.size()) <= index) shelves_.emplace_back();
    return shelves_[static_cast<size_t>(index)];
  }

  // A block up to half as large again also serves, since ragged batches differ in size from step to step. While new
  // shapes come, not one that this round needed already: repeated, it then finds a block of its own class each time.
  Header* reuse(int own, int size_class) {
    Shelf& from = shelf(own);
    Header* header = from.get(size_class);
    const int largest = own > 0 ? size_class : std::min(kClasses - 1, size_class + kSteps / 2);
    for (int c = size_class + 1; !header && c <= largest; ++c) header = from.get_idle(c, round_);
    const bool settled = settled_ && stats_.system_allocations == bought_before_;
    for (int c = size_class + 1; !header && settled && c <= largest; ++c) header = from.get(c);
    return header;
  }

  // Batches that grow ask for ever larger blocks: one that became too small makes room for the new one.
  void drop_outgrown(int size_class) {
    constexpr size_t kWorth = size_t{1} << 20;
    if (bytes_of(size_class) < kWorth) return;
    for (int c = size_class - 1; c >= size_class - kSteps / 2; --c) {
      if (Header* header = shelf(0).get(c)) return sell(header);
    }
  }

  Header* buy(int own, int size_class) {
    const size_t size = bytes_of(size_class);
    auto* header = static_cast<Header*>(from_system(size + sizeof(Header)));
    if (!header) fail_memory("[memory] cannot allocate {} bytes", size);
    header->shelf = own;
    header->size_class = size_class;
    header->bytes = size;
    ASAN_POISON_MEMORY_REGION(header + 1, size);
    ++stats_.system_allocations;
    stats_.bytes_held += static_cast<int64_t>(size);
    return header;
  }

  void sell(Header* header) {
    stats_.bytes_held -= static_cast<int64_t>(header->bytes);
    ASAN_UNPOISON_MEMORY_REGION(header + 1, header->bytes);
    std::free(header);
  }

  std::mutex mutex_;
  std::deque<Shelf> shelves_ = std::deque<Shelf>(1);
  PoolStats stats_;
  uint32_t round_ = 0;
  bool settled_ = false;  // the round before took nothing from the system
  int64_t bought_before_ = 0;
};

// Never destroyed: tensors with static lifetime may outlive any order of destruction.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

}  // namespace

PoolStats pool_stats() { return pool().stats(); }
void reset_peak() { pool().reset_peak(); }
void next_round() { pool().next_round(); }
void release_unused() { pool().release_unused(); }
void* pool_take(size_t bytes) { return pool().take(bytes); }
void pool_give(void* block) noexcept { pool().give(block); }

size_t bytes_for(int64_t n, size_t each) {
  constexpr int64_t kMost = int64_t{1} << 62;  // leaves room for what stands before a block
  int64_t bytes = 0;
  if (n < 0 || __builtin_mul_overflow(n, static_cast<int64_t>(each), &bytes) || bytes > kMost) {
    fail_memory("[memory] cannot allocate {} times {} bytes", n, each);
  }
  return static_cast<size_t>(bytes);
}

struct alignas(kAlign) Buffer::Block {
  std::atomic<int> owners{1};
};

Buffer::Buffer(int64_t floats) : block_(new (pool_take(sizeof(Block) + bytes_for(floats, sizeof(float)))) Block) {}

Buffer::Buffer(const Buffer& other) noexcept : block_(other.block_) {
  if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_give(block_);
}

float* Buffer::data() const { return block_ ? reinterpret_cast<float*>(block_ + 1) : nullptr; }

bool Buffer::unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }

}  // namespace heed
