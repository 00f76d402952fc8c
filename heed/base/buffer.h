// Memory that is reused: blocks go back to a pool when their last handle dies, so a training step whose
// shapes were seen before takes nothing from the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heed {

struct PoolStats {
  int64_t system_allocations = 0;  // calls to the system so far
  int64_t bytes_held = 0;          // taken from the system and not given back
  int64_t bytes_used = 0;          // of which in use now
  int64_t peak_used = 0;
};
PoolStats pool_stats();
void reset_peak();
// A pass through a model is over: what the next one takes is a sequence of its own.
void next_round();
// Gives every unused block back to the system.
void release_unused();

// A block from the pool, 64-byte aligned, not initialised; of any size, also 0.
void* pool_take(size_t bytes);
void pool_give(void* block) noexcept;

// Bytes of n things of `each` bytes; an error where that is negative or more than can be counted.
size_t bytes_for(int64_t n, size_t each);

// Shared, counted handle to a block of floats.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t floats);
  Buffer(const Buffer& other) noexcept;
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer();
  float* data() const;
  explicit operator bool() const { return block_ != nullptr; }
  bool unique() const;
  bool operator==(const Buffer& other) const { return block_ == other.block_; }

 private:
  struct Block;
  Block* block_ = nullptr;
};

// Working memory of one call: typed, from the pool, given back at the end of the scope.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : data_(static_cast<T*>(pool_take(bytes_for(n, sizeof(T))))) {}
  ~Scratch() { pool_give(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

}  // namespace heed
