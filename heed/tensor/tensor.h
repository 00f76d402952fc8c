// A Tensor is a value: a cheap handle to f32 numbers, their shape and how they came about.
// Its numbers are rows of the last dimension; a column slice keeps the row stride of its parent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "heed/base/buffer.h"
#include "heed/kernels/numbers.h"
#include "heed/tensor/shape.h"

namespace heed {

class Tensor;

namespace detail {
struct Node;
void retain(Node* node) noexcept;
void release(Node* node) noexcept;
}  // namespace detail

// Where a backward puts a gradient: it writes, or adds when someone wrote before. Null data: not wanted.
struct GradTarget {
  float* data = nullptr;
  int64_t ld = 0;
  bool accumulate = false;
  explicit operator bool() const { return data != nullptr; }
};

// Numbers that stay where a file has them and as it has them: products and embeddings read them, nothing else can.
struct StoredNumbers {
  const void* data = nullptr;
  int64_t ld = 0;  // from one row to the next; quantised ones have none
  kernels::NumberType type = kernels::NumberType::kF32;
  std::shared_ptr<const void> owner = nullptr;  // of the memory
  bool in_halves = false;                       // how a product sums (kernels/gemm.h)
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) noexcept : node_(other.node_) { detail::retain(node_); }
  Tensor(Tensor&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Tensor() { detail::release(node_); }

  static Tensor empty(const Shape& shape);  // not initialised
  static Tensor zeros(const Shape& shape);
  static Tensor full(const Shape& shape, float value);
  static Tensor from(std::span<const float> values, const Shape& shape);
  static Tensor from(std::initializer_list<float> values, const Shape& shape);
  static Tensor scalar(float value);
  // Shares `buffer` from `offset` on: how parameters live side by side in one arena.
  static Tensor view_of(const Buffer& buffer, int64_t offset, const Shape& shape);

  explicit operator bool() const { return node_ != nullptr; }
  const Shape& shape() const;
  int64_t size(int dim) const { return shape()[dim]; }
  int64_t numel() const { return shape().numel(); }
  int64_t cols() const;  // size of the last dimension, 1 for a scalar
  int64_t rows() const;  // everything before it
  int64_t ld() const;    // floats from one row to the next
  bool contiguous() const { return ld() == cols() || rows() <= 1; }
  float* data() const;
  float item() const;  // of a tensor with one element
  // From now on (rows, columns) numbers of a file, without a gradient.
  void set_stored(StoredNumbers numbers);
  const StoredNumbers* stored() const;  // null for numbers in memory
  std::vector<float> to_vector() const;

  bool requires_grad() const;
  Tensor& set_requires_grad(bool wanted = true);
  // A parameter's gradient lives at `offset` of a shared buffer instead of one of its own.
  void set_grad_storage(const Buffer& buffer, int64_t offset);
  Tensor grad() const;    // zeros where nothing arrived
  void clear_grad();      // the next backward writes instead of adding
  Tensor detach() const;  // the same numbers without history

  // From a scalar: fills grad() of every leaf. The history is used up.
  void backward() const;
  void backward(const Tensor& upstream) const;

  // For ops. What a backward does to reach an input: either writes through a target...
  GradTarget grad_target() const;
  GradTarget zeroed_grad_target() const;  // always to be added to
  // ...or hands over a whole gradient, which is shared and not copied where possible.
  void add_grad(const Tensor& gradient) const;

  detail::Node* node() const { return node_; }
  explicit Tensor(detail::Node* node) noexcept : node_(node) {}  // takes over one reference

 private:
  detail::Node& known() const;      // an error where there is no value
  detail::Node& in_memory() const;  // an error where the value is stored

  detail::Node* node_ = nullptr;
};

// While one lives, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
bool grad_enabled();

}  // namespace heed
