// Autograd by closures: an op computes and states its backward beside it.
//
//   Tensor y = Tensor::empty(x.shape());
//   kernels::activate(y.data(), x.data(), x.numel(), act);
//   on_backward(y, {x}, [x, act](const Tensor& dy) { ... write to x.grad_target() ... });
//
// A closure must not hold y itself (that would be a cycle): y.detach() shares the numbers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include "heed/tensor/tensor.h"

namespace heed {
namespace detail {

// Blocks of these come from the pool, so that a step whose shapes were seen takes nothing from the system.
struct Pooled {
  static void* operator new(size_t bytes) { return pool_take(bytes); }
  static void operator delete(void* block) { pool_give(block); }
};

struct Backward : Pooled {
  virtual ~Backward() = default;
  virtual void run(const Tensor& dy) = 0;
};

template <class F>
struct BackwardOf final : Backward {
  explicit BackwardOf(F&& f) : function(std::move(f)) {}
  void run(const Tensor& dy) override { function(dy); }
  F function;
};

struct Node : Pooled {
  static constexpr int kMaxInputs = 12;

  std::atomic<int> owners{1};
  uint64_t number = 0;  // in order of creation: inputs always have smaller ones
  Buffer values;
  int64_t offset = 0, ld = 0;
  Shape shape;
  bool requires_grad = false;
  std::shared_ptr<const StoredNumbers> stored;  // instead of values

  Buffer grad;
  int64_t grad_offset = 0;
  bool grad_written = false;      // else what lies in grad is stale
  bool grad_shared = false;       // grad belongs to an arena: never replaced
  std::atomic<uint64_t> lent{0};  // to which EarlyGrad the memory of grad is lent; 0: to none
  Buffer evicted;                 // what that one wrote, once the memory was needed for something else
  // Columns [begin, end) of the gradient that slices have written so far, while not all are.
  std::array<std::pair<int64_t, int64_t>, 8> written{};
  int n_written = 0;

  Tensor parent;  // of a column slice, whose gradient lies in the parent's
  int64_t column = 0;

  std::array<Tensor, kMaxInputs> inputs;
  int n_inputs = 0;
  Backward* backward = nullptr;
  bool queued = false;
  Node* dead_after = nullptr;  // the next one to be deleted
  bool used = false;           // its backward has run

  ~Node() { delete backward; }
};

bool record(const Tensor& y, std::initializer_list<Tensor> inputs);
bool record(const Tensor& y, const Tensor* inputs, int n);

}  // namespace detail

template <class F>
void on_backward(const Tensor& y, std::initializer_list<Tensor> inputs, F&& backward) {
  if (detail::record(y, inputs))
    y.node()->backward = new detail::BackwardOf<std::remove_cvref_t<F>>(std::forward<F>(backward));
}

// A copy of whole numbers that an op was given and its backward reads again: the caller's own may be gone by then.
template <class T>
class Kept {
 public:
  explicit Kept(std::span<const T> numbers) : size_(numbers.size()), buffer_(static_cast<int64_t>(numbers.size())) {
    static_assert(sizeof(T) == sizeof(float));
    std::copy(numbers.begin(), numbers.end(), data());
  }
  T* data() const { return reinterpret_cast<T*>(buffer_.data()); }
  std::span<const T> all() const { return {data(), size_}; }

 private:
  size_t size_;
  Buffer buffer_;
};

// True where the gradients of both lie in the same memory: an op must not write the two at once.
bool share_gradient(const Tensor& a, const Tensor& b);

// Columns [begin, end) of x as a view: nothing is copied, and its gradient is written into x's.
Tensor columns(const Tensor& x, int64_t begin, int64_t end);

}  // namespace heed
