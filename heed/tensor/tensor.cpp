#include "heed/tensor/tensor.h"

#include <algorithm>
#include <atomic>

#include "heed/base/error.h"
#include "heed/kernels/elementwise.h"
#include "heed/tensor/autograd.h"
#include "heed/tensor/recompute.h"

namespace heed {
namespace {

std::atomic<uint64_t> next_number{1};

Tensor new_node(const Buffer& buffer, int64_t offset, const Shape& shape, int64_t ld) {
  auto* node = new detail::Node;
  node->number = next_number.fetch_add(1, std::memory_order_relaxed);
  node->values = buffer;
  node->offset = offset;
  node->shape = shape;
  node->ld = ld;
  return Tensor(node);
}

int64_t last(const Shape& shape) { return shape.rank() ? shape[-1] : 1; }

}  // namespace

namespace detail {

void retain(Node* node) noexcept {
  if (node) node->owners.fetch_add(1, std::memory_order_relaxed);
}

// Deleting a node releases those that it came from. They wait in a list until it is done, so that a history of any length
// needs no stack.
void release(Node* node) noexcept {
  thread_local Node* dead = nullptr;
  thread_local bool deleting = false;
  if (!node || node->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  node->dead_after = std::exchange(dead, node);
  if (std::exchange(deleting, true)) return;
  while (dead) {
    Node* next = dead;
    dead = next->dead_after;
    delete next;
  }
  deleting = false;
}

}  // namespace detail

Tensor Tensor::empty(const Shape& shape) { return new_node(Buffer(shape.numel()), 0, shape, last(shape)); }

Tensor Tensor::full(const Shape& shape, float value) {
  Tensor t = empty(shape);
  kernels::fill(t.data(), value, t.numel());
  return t;
}

Tensor Tensor::zeros(const Shape& shape) { return full(shape, 0); }

Tensor Tensor::from(std::span<const float> values, const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.numel()) {
    fail("[tensor] {} values for shape {}: expected {}", values.size(), shape.str(), shape.numel());
  }
  Tensor t = empty(shape);
  std::copy(values.begin(), values.end(), t.data());
  return t;
}

Tensor Tensor::from(std::initializer_list<float> values, const Shape& shape) {
  return from(std::span<const float>(values.begin(), values.size()), shape);
}

Tensor Tensor::scalar(float value) { return full({}, value); }

Tensor Tensor::view_of(const Buffer& buffer, int64_t offset, const Shape& shape) {
  return new_node(buffer, offset, shape, last(shape));
}

detail::Node& Tensor::known() const {
  if (!node_) fail("[tensor] used before it was given a value");
  return *node_;
}

const Shape& Tensor::shape() const { return known().shape; }

int64_t Tensor::cols() const { return last(shape()); }

int64_t Tensor::rows() const {
  const int64_t c = cols();
  return c ? numel() / c : shape().without_last().numel();
}

int64_t Tensor::ld() const { return known().ld; }

detail::Node& Tensor::in_memory() const {
  if (known().stored) {
    fail("[tensor] the numbers of shape {} are stored as {}: only products and embeddings read them", shape().str(),
         name(node_->stored->type));
  }
  return *node_;
}

float* Tensor::data() const { return in_memory().values.data() + node_->offset; }

const StoredNumbers* Tensor::stored() const { return known().stored.get(); }

void Tensor::set_stored(StoredNumbers numbers) {
  known().requires_grad = false;
  node_->stored = std::make_shared<const StoredNumbers>(std::move(numbers));
}

float Tensor::item() const {
  if (numel() != 1) fail("[item] shape {}: expected one element", shape().str());
  return *data();
}

std::vector<float> Tensor::to_vector() const {
  std::vector<float> out;
  out.reserve(static_cast<size_t>(numel()));
  for (int64_t r = 0; r < rows(); ++r) out.insert(out.end(), data() + r * ld(), data() + r * ld() + cols());
  return out;
}

Tensor Tensor::detach() const { return new_node(in_memory().values, node_->offset, shape(), ld()); }

namespace {

// A slice of a slice writes into the outermost gradient.
void write_gradient_into(const Tensor& parent, int64_t column, const Tensor& view) {
  const detail::Node& p = *parent.node();
  view.node()->parent = p.parent ? p.parent : parent;
  view.node()->column = p.column + column;
}

}  // namespace

Tensor columns(const Tensor& x, int64_t begin, int64_t end) {
  if (begin < 0 || begin > end || end > x.cols() || x.shape().rank() == 0) {
    fail("[columns] [{}, {}) of shape {}", begin, end, x.shape().str());
  }
  if (x.stored()) fail("[columns] of stored numbers: expected numbers in memory");
  detail::Node* parent = x.node();
  Tensor view = new_node(parent->values, parent->offset + begin, x.shape().with_last(end - begin), x.ld());
  if (detail::record(view, {x})) write_gradient_into(x, begin, view);
  return view;
}

Tensor detail::history_ends(const Tensor& x) {
  if (!x || !x.requires_grad()) return x;
  Tensor view = x.detach();
  view.node()->requires_grad = true;
  write_gradient_into(x, 0, view);
  return view;
}

}  // namespace heed
